"""Commands that ask the publisher: how a brand's site looks, where it is found."""

from brandctl.publisher.preview import preview
from brandctl.publisher.site import app as site_app

__all__ = ["preview", "site_app"]
