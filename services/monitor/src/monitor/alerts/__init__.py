"""Alerts of Prometheus and Alertmanager, with who has seen them, and silences."""

from monitor.alerts.clients import AlertmanagerClient, PrometheusClient
from monitor.alerts.routes import alert_routes
from monitor.alerts.store import forget_old

__all__ = ["AlertmanagerClient", "PrometheusClient", "alert_routes", "forget_old"]
