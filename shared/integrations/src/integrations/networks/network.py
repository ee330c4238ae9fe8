"""The type of the entries: the facts about a network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Placement = Literal["in_text", "first_comment", "none"]
"""The place of the link to the article."""

READ: Final = "Read the article: "
"""Precedes the link, where it would else stand alone."""


@dataclass(frozen=True, slots=True)
class TextLimit:
    """The most of a post's text, in a unit that `social` counts."""

    unit: str
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network, and how posts are written for it."""

    name: str
    title: str
    position: int
    """Order in lists, from 1."""
    limits: tuple[TextLimit, ...]
    limits_source: str = ""
    """Where the network documents them."""
    note: str = ""
    """For people who paste a text there."""
    headline: bool = False
    """Whether the title precedes the text."""
    points: int
    """The most further sentences in a text."""
    bulleted: bool = True
    """Whether the points are a list."""
    hashtags: int
    """The most hashtags in a text."""
    headings: int = 0
    """The most headings of the article in a text."""
    opening: int = 0
    """The first sentence: 0 for the one that most makes readers look, and so on, modulo their number. So networks begin
    differently.
    """
    invites: bool = False
    """Whether "Read the article:" precedes the link."""
    drafted: bool = True
    """Whether pages show a draft to copy."""
    placements: tuple[Placement, ...] = ("in_text", "none")
    """Allowed places of the link; the first is the default."""
    needs_picture: bool = False
    """Whether a post without a picture is refused."""
    has_metrics: bool = False
    """Whether likes, shares and replies of a post can be read free of charge."""
    has_facets: bool = False
    """Whether links and hashtags are marked by their places in the text."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Reason of a refusal → plain words that say what to do."""
    review: str = "none"
    """What the provider checks before it lets an account post."""
    price: str = "none"
    lost_post: str = ""
    """What happens to a post that got no answer."""
    page: str = ""
    """Its page in `docs/connect`; empty: called after the network."""

    @property
    def documentation(self) -> str:
        return self.page or f"{self.name}.md"
