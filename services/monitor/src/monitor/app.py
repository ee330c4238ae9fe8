"""The composition root."""

from envelope.payloads import DeadLetterResolved
from messaging import Service, ServiceKey, on_batch
from monitor.handlers import record, resolved
from monitor.http_api import create_api
from monitor.settings import Settings


def build(settings: Settings) -> Service:
    service = Service("monitor", settings)
    service.consume_dead_letters(record)
    service.consume("monitor-commands", on_batch(resolved, DeadLetterResolved))
    service.serve(create_api(service.database, ServiceKey(settings.service_key)))
    return service
