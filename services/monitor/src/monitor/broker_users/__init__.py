"""Users of other systems at the broker: list, add, new password, remove. `brandctl broker-users` does the same at a terminal."""

from monitor.broker_users.routes import SHOWN_ONCE, BrokerUsers, broker_user_routes

__all__ = ["SHOWN_ONCE", "BrokerUsers", "broker_user_routes"]
