"""Settings of the service, from environment variables."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from chassis import AppSettings, KeyedSettings

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000)]


class Settings(AppSettings, KeyedSettings):
    http_port: int = Field(default=8015, ge=0, le=65535)
    cap_brand_day: Dollars = Decimal(2)
    """What each brand may spend in a day of UTC, in dollars, unless an operator says otherwise with `brandctl spend cap`."""
    cap_brand_month: Dollars = Decimal(30)
    cap_all_day: Dollars = Decimal(10)
    """What all brands together may."""
    cap_all_month: Dollars = Decimal(100)
    keep_ledger_days: int = Field(default=400, ge=32)
