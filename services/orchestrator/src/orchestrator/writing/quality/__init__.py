"""Measures articles: figures with bounds, and likeness to other texts."""

from orchestrator.writing.quality.likeness import (
    Fingerprint,
    alike,
    estimate,
    fingerprint,
    independent,
    said_by,
)
from orchestrator.writing.quality.measures import (
    NEAR_DUPLICATE,
    QUOTED,
    REPEATED,
    WRITTEN,
    Measure,
    MeasureBounds,
    NearestArticle,
    measure,
    near,
    problems,
)

__all__ = [
    "NEAR_DUPLICATE",
    "QUOTED",
    "REPEATED",
    "WRITTEN",
    "Fingerprint",
    "Measure",
    "MeasureBounds",
    "NearestArticle",
    "alike",
    "estimate",
    "fingerprint",
    "independent",
    "measure",
    "near",
    "problems",
    "said_by",
]
