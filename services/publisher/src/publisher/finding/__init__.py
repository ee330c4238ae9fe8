"""Finding pages of a site by their words: search, tags, related articles. PostgreSQL's full text, and no script.

Entered here: each function asks the database, and answers with summaries; `beside_article` is all that stands beside one.
"""

from publisher.finding.beside import Beside
from publisher.finding.beside import beside as beside_article
from publisher.finding.store import Tag, found, of_tag, related, tags_of_page, tags_of_site

__all__ = ["Beside", "Tag", "beside_article", "found", "of_tag", "related", "tags_of_page", "tags_of_site"]
