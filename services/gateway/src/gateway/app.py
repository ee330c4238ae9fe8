"""The only place that wires the service together."""

from chassis import App, ServiceKey
from gateway.http_api import create_api
from gateway.settings import Settings


def build(settings: Settings) -> App:
    app = App("gateway", settings, system="brand_engine")
    app.serve(create_api(ServiceKey(settings.service_key)))
    return app
