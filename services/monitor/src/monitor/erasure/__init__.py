"""Dead letters of brands that were erased: removed, and not recorded any more."""

from monitor.erasure.erasing import brand_of, comes_too_late, erase, erased

__all__ = ["brand_of", "comes_too_late", "erase", "erased"]
