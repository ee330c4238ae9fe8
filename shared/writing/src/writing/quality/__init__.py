"""Measures articles: figures with bounds, and likeness to other texts."""

from writing.quality.likeness import (
    Fingerprint,
    alike,
    containment,
    count_independent,
    estimate,
    fingerprint,
)
from writing.quality.measures import (
    NEAR_DUPLICATE,
    QUOTED,
    REPEATED,
    WRITTEN,
    Measure,
    MeasureBounds,
    NearestArticle,
    likeness_measure,
    measure,
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
    "containment",
    "count_independent",
    "estimate",
    "fingerprint",
    "likeness_measure",
    "measure",
    "problems",
]
