"""What a brand decides about its site: colour, typefaces, tags, author, an address of its own.

Entered here: `site_settings_routes` is the API, `look` the stylesheet that follows from the settings, `Addresses` whose site a host is.
"""

from publisher.site_settings.addresses import URLS, Addresses, OwnHosts
from publisher.site_settings.proof import GatewayHostProof, HostProof
from publisher.site_settings.routes import site_settings_routes
from publisher.site_settings.store import address_of, settings_of
from publisher.site_settings.stylesheet import look, readable_by_day

__all__ = [
    "URLS",
    "Addresses",
    "GatewayHostProof",
    "HostProof",
    "OwnHosts",
    "address_of",
    "look",
    "readable_by_day",
    "settings_of",
    "site_settings_routes",
]
