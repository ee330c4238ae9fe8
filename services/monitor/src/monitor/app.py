"""The only place that wires the service together."""

from datetime import timedelta

from chassis import ServiceKey
from envelope import DeadLetterResolved
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DeadLettersErase
from messaging import Service, on_batch
from monitor import dead_letters
from monitor.erasure import erase
from monitor.http_api import create_api
from monitor.settings import Settings


def build(settings: Settings) -> Service:
    service = Service("monitor", settings, CATALOGUE)
    service.consume_dead_letters(dead_letters.record)
    service.consume(
        "monitor-commands",
        on_batch(dead_letters.resolve, DeadLetterResolved),
        on_batch(erase, DeadLettersErase),
    )
    operations = dead_letters.Operations(service.database)
    service.serve(create_api(service.database, operations, ServiceKey(settings.service_key)))
    retention = dead_letters.Retention(service.database, timedelta(days=settings.retention_days))
    service.background("retention", retention.run)
    service.background("renaming", lambda: dead_letters.rename(service.database))
    service.gauge(
        "dead_letters_open", "Dead letters that wait for a decision.", "queue", dead_letters.open_by_queue
    )
    return service
