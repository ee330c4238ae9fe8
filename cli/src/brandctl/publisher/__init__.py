"""Commands that ask the publisher: how a brand's site looks and where it is found, and how articles are at other targets."""

from brandctl.publisher.measures import measures
from brandctl.publisher.preview import preview
from brandctl.publisher.site import app as site_app
from brandctl.publisher.targets import app as targets_app

__all__ = ["measures", "preview", "site_app", "targets_app"]
