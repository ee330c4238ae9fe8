"""The only place that wires the service together."""

from datetime import timedelta

from chassis import App, ServiceKey
from gateway.calls import Paying
from gateway.http_api import create_api
from gateway.money import Caps, Spending, micros
from gateway.settings import Settings


class Gateway(App):
    """A process that hears the end of what it has paid for before it stops."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("gateway", settings, system="brand_engine")
        spending = Spending(
            Caps(micros(settings.cap_brand_day), micros(settings.cap_brand_month)),
            Caps(micros(settings.cap_all_day), micros(settings.cap_all_month)),
        )
        self.paying = Paying(self.connections, spending, ledger=timedelta(days=settings.keep_ledger_days))
        self.serve(create_api(ServiceKey(settings.service_key), self.connections, spending))
        self.background("calls", self.paying.keep_sweeping)

    async def _finish_work(self, grace_seconds: float) -> None:
        await self.paying.finish(grace_seconds)


def build(settings: Settings) -> App:
    return Gateway(settings)
