"""A brand's settings of its site: colour, typefaces, tags, author, own address.

Entry points: `site_settings_routes` is the API, `own_stylesheet` the stylesheet with the settings, `CustomHostMiddleware` serves
sites under their own hosts.
"""

from publisher.site_settings.custom_hosts import URLS, CustomHostMiddleware, CustomHosts
from publisher.site_settings.menu import menu_links
from publisher.site_settings.proof import GatewayHostProof, HostProof
from publisher.site_settings.routes import SiteChange, site_settings_routes
from publisher.site_settings.store import address_of, settings_of
from publisher.site_settings.stylesheet import own_stylesheet, readable_by_day

__all__ = [
    "URLS",
    "CustomHostMiddleware",
    "CustomHosts",
    "GatewayHostProof",
    "HostProof",
    "SiteChange",
    "address_of",
    "menu_links",
    "own_stylesheet",
    "readable_by_day",
    "settings_of",
    "site_settings_routes",
]
