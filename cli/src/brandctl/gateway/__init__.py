"""What goes out through the gateway: what it costs, and with which accounts."""

from brandctl.gateway.accounts import app as accounts_app
from brandctl.gateway.providers import app as providers_app
from brandctl.gateway.spend import app as spend_app

__all__ = ["accounts_app", "providers_app", "spend_app"]
