"""Who writes: brands, in what language, for which site and channels."""

from orchestrator.brands.domain import (
    BUILT_IN_SITE,
    EXTRACTIVE,
    MODEL,
    Approval,
    BrandSlug,
    UnknownBrandError,
    UnwritableError,
    approval_of,
    check_writer,
)
from orchestrator.brands.models import NAME_PATTERN, Agent, BrandView, Counters
from orchestrator.brands.quiet_periods import QuietPeriods
from orchestrator.brands.routes import Slug, brand_routes, seen_slug
from orchestrator.brands.store import Brand, find_brand, find_brands, upsert_brand

__all__ = [
    "BUILT_IN_SITE",
    "EXTRACTIVE",
    "MODEL",
    "NAME_PATTERN",
    "Agent",
    "Approval",
    "Brand",
    "BrandSlug",
    "BrandView",
    "Counters",
    "QuietPeriods",
    "Slug",
    "UnknownBrandError",
    "UnwritableError",
    "approval_of",
    "brand_routes",
    "check_writer",
    "find_brand",
    "find_brands",
    "seen_slug",
    "upsert_brand",
]
