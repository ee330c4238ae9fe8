"""Counts page views: a number for each page and day, and no data about visitors.

Entry points: `PageViewCounter` counts, `view_routes` serves the counts. `by_day`, `WriteBehindCounter` and `is_person` serve other
counts without data about visitors.
"""

from publisher.views.counter import PageViewCounter, is_person
from publisher.views.routes import view_routes
from publisher.views.store import by_day
from publisher.views.write_behind import WriteBehindCounter

__all__ = ["PageViewCounter", "WriteBehindCounter", "by_day", "is_person", "view_routes"]
