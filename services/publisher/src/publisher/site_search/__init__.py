"""Searches the pages of a site: full-text search, tags and related articles, by PostgreSQL.

Each function returns page summaries; `related_articles` returns everything that an article's page shows of others.
"""

from publisher.site_search.related import RelatedArticles, related_articles
from publisher.site_search.store import Tag, pages_with_tag, related, search_pages, tags_of_page, tags_of_site

__all__ = [
    "RelatedArticles",
    "Tag",
    "pages_with_tag",
    "related",
    "related_articles",
    "search_pages",
    "tags_of_page",
    "tags_of_site",
]
