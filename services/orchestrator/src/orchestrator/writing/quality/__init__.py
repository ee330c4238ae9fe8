"""What can be counted of an article: its measures with their bounds, and how much it says that others have said."""

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
