"""A brand's rows for an archive, and from one: what another installation needs to have the brand as it is here."""

from orchestrator.brand_parts.parts import build_parts

__all__ = ["build_parts"]
