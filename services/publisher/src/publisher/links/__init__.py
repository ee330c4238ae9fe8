"""Short links: where they lead, and how often each is followed. A number for each post and day, and nothing of who followed it.

Entered here: `ShortLinks` makes them as articles are announced, `Follow` leads visitors, `Clicks` counts them, `register` says which post a
mark is, and `measure_routes` tells.
"""

from publisher.links.announcing import ShortLinks, register
from publisher.links.counting import Clicks
from publisher.links.following import Follow
from publisher.links.routes import measure_routes
from publisher.links.store import Leading

__all__ = ["Clicks", "Follow", "Leading", "ShortLinks", "measure_routes", "register"]
