"""Brands: their settings, language, targets and channels."""

from orchestrator.brands.domain import (
    BUILT_IN_SITE,
    EXAM_PAYER,
    EXTRACTIVE,
    MODEL,
    ApprovalPolicy,
    BrandSlug,
    UnknownBrandError,
    UnusableWriterError,
    approval_of,
    check_writer,
)
from orchestrator.brands.models import BrandAgentView, BrandCounters, BrandView, KeywordWait
from orchestrator.brands.quiet_periods import end_quiet_periods
from orchestrator.brands.routes import Slug, brand_routes, seen_slug
from orchestrator.brands.store import (
    BrandRow,
    find_brand,
    find_brands,
    until_a_quiet_period_ends,
    upsert_brand,
)

__all__ = [
    "BUILT_IN_SITE",
    "EXAM_PAYER",
    "EXTRACTIVE",
    "MODEL",
    "ApprovalPolicy",
    "BrandAgentView",
    "BrandCounters",
    "BrandRow",
    "BrandSlug",
    "BrandView",
    "KeywordWait",
    "Slug",
    "UnknownBrandError",
    "UnusableWriterError",
    "approval_of",
    "brand_routes",
    "check_writer",
    "end_quiet_periods",
    "find_brand",
    "find_brands",
    "seen_slug",
    "until_a_quiet_period_ends",
    "upsert_brand",
]
