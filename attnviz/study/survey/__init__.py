"""A survey: the scores of every head over many texts, in one process or on a cluster."""

from attnviz.study.survey.plan import Plan as Plan
from attnviz.study.survey.running import survey as survey
from attnviz.study.survey.summary import Summary as Summary
from attnviz.study.survey.summary import summary as summary
from attnviz.study.survey.texts import Text as Text
from attnviz.study.survey.texts import read_texts as read_texts
