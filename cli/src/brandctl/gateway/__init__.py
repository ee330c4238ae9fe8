"""What goes out through the gateway: what it costs, and with which accounts."""

from brandctl.gateway.spend import app as spend_app

__all__ = ["spend_app"]
