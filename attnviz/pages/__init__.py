"""Pages to hand out: a document's numbers in one HTML file that opens in any browser without a network."""

from attnviz.pages.page import page_html as page_html
from attnviz.pages.page import save_page as save_page
