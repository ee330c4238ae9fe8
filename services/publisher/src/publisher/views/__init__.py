"""How often pages are looked at: a number for each page and day, and nothing of who looked.

Entered here: `Views` counts what is served, `view_routes` tells. `by_day`, `Tally` and `is_somebody` are for whatever else is counted in that spirit.
"""

from publisher.views.counter import PageViewCounter, is_person
from publisher.views.routes import view_routes
from publisher.views.store import by_day
from publisher.views.write_behind import WriteBehindCounter

__all__ = ["PageViewCounter", "WriteBehindCounter", "by_day", "is_person", "view_routes"]
