"""Who writes: brands, in what language, for which site and channels."""

from orchestrator.brands.domain import BrandSlug, UnknownBrandError
from orchestrator.brands.routes import Slug, brand_routes, checked_slug
from orchestrator.brands.store import Brand, find_brand, upsert_brand

__all__ = [
    "Brand",
    "BrandSlug",
    "Slug",
    "UnknownBrandError",
    "brand_routes",
    "checked_slug",
    "find_brand",
    "upsert_brand",
]
