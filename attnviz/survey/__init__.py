"""A survey: the scores of every head over many texts, in one process or on a cluster."""

from attnviz.survey.plan import Plan as Plan
from attnviz.survey.running import survey as survey
from attnviz.survey.summary import Summary as Summary
from attnviz.survey.summary import summary as summary
from attnviz.survey.texts import Text as Text
from attnviz.survey.texts import read_texts as read_texts
