"""Where articles go: the built-in site, accounts with others, files, and whoever takes signed messages.

Entered here: each brings a target up to date with an article, `BuiltInSite` the pages of this database, `Bringing` what is elsewhere. What
a kind of account needs is one file (`wordpress.py`), named in `places.py`.
"""

from publisher.targets.bringing import Bringing, ask_again, failed
from publisher.targets.files import Files
from publisher.targets.pictures import Pictures
from publisher.targets.places import SITE
from publisher.targets.routes import target_routes
from publisher.targets.site import AT_ONCE, Brought, BuiltInSite

__all__ = [
    "AT_ONCE",
    "SITE",
    "Bringing",
    "Brought",
    "BuiltInSite",
    "Files",
    "Pictures",
    "ask_again",
    "failed",
    "target_routes",
]
