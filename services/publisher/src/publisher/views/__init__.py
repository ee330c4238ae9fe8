"""How often pages are looked at: a number for each page and day, and nothing of who looked.

Entered here: `Views` counts what is served, `view_routes` tells. `by_day`, `Tally` and `is_somebody` are for whatever else is counted in that spirit.
"""

from publisher.views.counting import Views, is_somebody
from publisher.views.routes import view_routes
from publisher.views.store import by_day
from publisher.views.tally import Tally

__all__ = ["Tally", "Views", "by_day", "is_somebody", "view_routes"]
