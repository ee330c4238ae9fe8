"""What any process of ours is made of: lifecycle, settings, logs, traces, metrics, HTTP, database. It knows no message."""

from chassis.app import App
from chassis.command_line import command_line
from chassis.database.pool import Connection, Connections, DatabaseUnavailableError
from chassis.http.service_key import ServiceKey
from chassis.settings import AppSettings, KeyedSettings, WebAddress

__all__ = [
    "App",
    "AppSettings",
    "Connection",
    "Connections",
    "DatabaseUnavailableError",
    "KeyedSettings",
    "ServiceKey",
    "WebAddress",
    "command_line",
]
