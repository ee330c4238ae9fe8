"""The only place that wires the service together."""

from datetime import timedelta

from chassis import ServiceKey
from envelope import DeadLetterResolved
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DeadLettersErase
from messaging import Service, on_batch
from monitor import handlers, reading, renaming
from monitor.erasure import erase
from monitor.http_api import create_api
from monitor.operations import Operations
from monitor.retention import Retention
from monitor.settings import Settings


def build(settings: Settings) -> Service:
    service = Service("monitor", settings, CATALOGUE)
    service.consume_dead_letters(handlers.record)
    service.consume(
        "monitor-commands", on_batch(handlers.resolve, DeadLetterResolved), on_batch(erase, DeadLettersErase)
    )
    operations = Operations(service.database)
    service.serve(create_api(service.database, operations, ServiceKey(settings.service_key)))
    retention = Retention(service.database, timedelta(days=settings.retention_days))
    service.background("retention", retention.run)
    service.background("renaming", lambda: renaming.run(service.database))
    service.gauge(
        "dead_letters_open", "Dead letters that wait for a decision.", "queue", reading.open_by_queue
    )
    return service
