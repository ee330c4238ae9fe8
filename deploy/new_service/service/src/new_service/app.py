"""Wires the service together: settings, database, handlers and API."""

from chassis import ServiceKey
from envelope.brand import CATALOGUE
from envelope.brand.payloads import NewServiceRequested
from messaging import Service, on_batch
from new_service.handlers import store_notes
from new_service.http_api import create_api
from new_service.settings import Settings


def build(settings: Settings) -> Service:
    service = Service("new_service", settings, CATALOGUE)
    service.consume("new_service-commands", on_batch(store_notes, NewServiceRequested))
    service.serve(create_api(service.database, ServiceKey(settings.service_key)))
    return service
