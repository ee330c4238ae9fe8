"""What a brand is called, who writes for it and what it wants to see. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final, NewType

from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN

BrandSlug = NewType("BrandSlug", str)

EXTRACTIVE: Final = "extractive"
MODEL: Final = "model"
WRITERS: Final = (EXTRACTIVE, MODEL)
"""Who may write a brand's articles: quotations put in order, or a language model held to its sources."""


BUILT_IN_SITE: Final = "site"
DEFAULT_UNREVIEWED: Final = 5
"""Drafts of a brand that may wait without anybody having reviewed them, unless the brand says otherwise."""


class ApprovalPolicy(StrEnum):
    """Which articles a person approves before they are published."""

    EVERYTHING = "everything"
    FIRST = "first"
    """The first on a keyword: what comes after an article that the brand let out on the same one goes by itself."""
    NOTHING = "nothing"
    """None but those that miss a bound."""


def approval_of(wish: str | None, *, writer: str, targets: Collection[str]) -> ApprovalPolicy:
    """What the brand wants to see: what it says, or else everything that a model writes or that leaves the built-in site."""
    if wish is not None:
        return ApprovalPolicy(wish)
    leaves = any(target != BUILT_IN_SITE for target in targets)
    return ApprovalPolicy.EVERYTHING if writer == MODEL or leaves else ApprovalPolicy.NOTHING


class UnusableWriterError(ValueError):
    """The brand asks for a writer that cannot write for it; the message says what to do."""


def check_writer(writer: str, language: str, available: AbstractSet[str]) -> None:
    """Raises UnusableWriterError: that writer is not configured, or does not know the language."""
    if writer not in available:
        raise UnusableWriterError(
            f"no model is configured, so the writer '{writer}' cannot write: set MODEL_URL and restart the orchestrator, or"
            f" give the brand the writer '{EXTRACTIVE}'"
        )
    if writer == MODEL and language.partition("-")[0] != "en":
        raise UnusableWriterError(
            f"what a model writes can be held against its sources in English only, and the brand's language is"
            f" '{language}': give it the writer '{EXTRACTIVE}'"
        )


class UnknownBrandError(LookupError):
    """There is no brand of this slug; the message says how to make one."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"there is no brand '{slug}'; create it first with PUT /v1/brands/{slug}")


def is_slug(text: str) -> bool:
    """Whether a brand may be called so: lower-case letters and digits, joined by single hyphens."""
    return (
        len(text) <= MAX_BRAND_SLUG
        and re.fullmatch(SLUG_PATTERN, text) is not None
        and not text.endswith("\n")
    )
