"""Settings of the service, from environment variables."""

from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from chassis import AppSettings, KeyedSettings, WebAddress
from gateway.egress.addresses import Network, networks

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000)]
Networks = Annotated[
    tuple[Network, ...],
    NoDecode,
    BeforeValidator(lambda given: networks(given) if isinstance(given, str) else given),
]
"""With commas between them: `10.1.0.0/16, fd00:1::/32`."""


class Settings(AppSettings, KeyedSettings):
    http_port: int = Field(default=8015, ge=0, le=65535)
    cap_brand_day: Dollars = Decimal(2)
    """What each brand may spend in a day of UTC, in dollars, unless an operator says otherwise with `brandctl spend cap`."""
    cap_brand_month: Dollars = Decimal(30)
    cap_all_day: Dollars = Decimal(10)
    """What all brands together may."""
    cap_all_month: Dollars = Decimal(100)
    keep_ledger_days: int = Field(default=400, ge=32)
    robot_about: WebAddress | None = None
    """Where owners of sites read who reads their pages, and how to reach you; sent with each request. Unset: none is read."""
    egress_reachable_networks: Networks = ()
    """Networks that are not of the public internet, and whose sites may be read nevertheless."""
    page_max_bytes: int = Field(default=5_000_000, ge=10_000, le=20_000_000)
    page_seconds: float = Field(default=20.0, gt=0, le=60)
    """For reading one page, its turn not counted."""
    page_pause_seconds: float = Field(default=1.0, ge=0, le=3600)
    """Between two requests to one host, of all replicas together; a site's robots.txt may ask for more."""
    page_patience_seconds: float = Field(default=15.0, ge=0, le=60)
    """A turn that is further away is not waited for: whoever asks is told when to come again."""
    page_cache_megabytes: int = Field(default=500, ge=1)
