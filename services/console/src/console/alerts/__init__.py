"""Alerts of Prometheus and Alertmanager: acknowledged, and silenced with an end; for operators."""
