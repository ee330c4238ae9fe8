"""Where articles go: the built-in site, accounts with others, files, and whoever takes signed messages.

Entered here: each brings a target up to date with an article, `BuiltInSite` the pages of this database, `Bringing` what is elsewhere. What
a kind of account needs is one file (`wordpress.py`), named in `places.py`.
"""

from publisher.targets.files import FilesTarget
from publisher.targets.pictures import CoverPictures
from publisher.targets.resolution import SITE
from publisher.targets.routes import target_routes
from publisher.targets.site import AT_ONCE, BuiltInSite, SiteJob
from publisher.targets.target_publisher import TargetPublisher, report_failure, republish

__all__ = [
    "AT_ONCE",
    "SITE",
    "BuiltInSite",
    "CoverPictures",
    "FilesTarget",
    "SiteJob",
    "TargetPublisher",
    "report_failure",
    "republish",
    "target_routes",
]
