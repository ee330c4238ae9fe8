"""Web pages: read with respect for each site's rules, and cached while fresh."""

from gateway.pages.reader import CrawlPolicy, PageReader
from gateway.pages.robots import user_agent
from gateway.pages.routes import page_routes
from gateway.pages.store import count_pages

__all__ = ["CrawlPolicy", "PageReader", "count_pages", "page_routes", "user_agent"]
