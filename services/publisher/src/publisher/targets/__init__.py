"""The targets of articles: the built-in site, connected accounts, files and webhooks.

Entry points: `BuiltInSite` publishes to this database, `TargetPublisher` to all other targets. Each kind of account is one file
of `accounts` (`wordpress.py`).
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
