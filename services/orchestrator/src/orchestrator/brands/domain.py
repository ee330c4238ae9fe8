"""A brand's name, writer and approval policy. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final, NewType

from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN

BrandSlug = NewType("BrandSlug", str)

EXTRACTIVE: Final = "extractive"
"""The writer that arranges quotations."""
MODEL: Final = "model"
"""The writer that is a language model, held to its sources."""
BUILT_IN_SITE: Final = "site"
EXAM_PAYER: Final = "judge-exams"
"""The brand that exams of judges count for at the gateway, as they are no brand's. No brand can have this slug."""


class ApprovalPolicy(StrEnum):
    """Which articles a person approves before they are published."""

    EVERYTHING = "everything"
    FIRST = "first"
    """The first article on a keyword. Later articles on the same keyword are published without review."""
    NOTHING = "nothing"
    """Only articles that miss a quality bound."""


def approval_of(wish: str | None, *, writer: str, targets: Collection[str]) -> ApprovalPolicy:
    """The brand's policy: its own setting, or else everything that a model writes or that leaves the built-in site."""
    if wish is not None:
        return ApprovalPolicy(wish)
    leaves = any(target != BUILT_IN_SITE for target in targets)
    return ApprovalPolicy.EVERYTHING if writer == MODEL or leaves else ApprovalPolicy.NOTHING


class UnusableWriterError(ValueError):
    """The chosen writer cannot write for this brand; the message says what to do."""


def check_writer(writer: str, language: str, available: AbstractSet[str]) -> None:
    """Raises UnusableWriterError: the writer is not configured, or does not support the language."""
    if writer not in available:
        raise UnusableWriterError(
            f"no model is configured, so the writer '{writer}' cannot write: set MODEL_URL and restart the orchestrator, or"
            f" give the brand the writer '{EXTRACTIVE}'"
        )
    if writer == MODEL and language.partition("-")[0] != "en":
        raise UnusableWriterError(
            f"a model's text can be checked against its sources in English only, and the brand's language is"
            f" '{language}': give it the writer '{EXTRACTIVE}'"
        )


class UnknownBrandError(LookupError):
    """No brand has this slug; the message says how to create one."""

    def __init__(self, slug: str) -> None:
        super().__init__(
            f"there is no brand '{slug}'; create it first: brandctl brands set {slug} --name NAME, or PUT /v1/brands/{slug}"
        )


def is_slug(text: str) -> bool:
    """Whether the text is a valid slug: lower-case letters and digits, joined by single hyphens."""
    return (
        len(text) <= MAX_BRAND_SLUG
        and re.fullmatch(SLUG_PATTERN, text) is not None
        and not text.endswith("\n")
    )
