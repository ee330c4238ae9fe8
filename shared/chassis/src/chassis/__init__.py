"""The base of every process: lifecycle, settings, logs, traces, metrics, HTTP, database. It does not handle messages.

Names are imported on first use, so that small processes and commands load one module without a web server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from chassis.app import App
    from chassis.database.pool import Connection, Connections, DatabaseUnavailableError
    from chassis.http.service_key import ServiceKey
    from chassis.settings import AppSettings, KeyedSettings, WebAddress
else:
    _DEFINED_IN: Final = {
        "App": "chassis.app",
        "AppSettings": "chassis.settings",
        "Connection": "chassis.database.pool",
        "Connections": "chassis.database.pool",
        "DatabaseUnavailableError": "chassis.database.pool",
        "KeyedSettings": "chassis.settings",
        "ServiceKey": "chassis.http.service_key",
        "WebAddress": "chassis.settings",
    }

    def __getattr__(name: str) -> Any:
        if name not in _DEFINED_IN:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_DEFINED_IN[name]), name)
        return value


__all__ = [
    "App",
    "AppSettings",
    "Connection",
    "Connections",
    "DatabaseUnavailableError",
    "KeyedSettings",
    "ServiceKey",
    "WebAddress",
]
