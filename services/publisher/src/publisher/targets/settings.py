"""How a brand wants its articles at a target: what the API takes and the database keeps."""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from chassis.links import public_link

NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
_ADDRESS: Final = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#]*)?")

Kind = Literal["wordpress", "ghost", "devto", "files", "webhook"]
Profile = Literal["hugo", "astro", "jekyll", "eleventy"]
Named = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$"),
]


class TargetSettings(BaseModel):
    """Left out: as said with each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Kind | None = None
    """What it is; left out: what the target is called like, or its account's."""
    account: Annotated[str, Field(pattern=NAME_PATTERN, max_length=63)] | None = None
    """Of the gateway; left out: the one called like the target, or the brand's only one of its kind."""
    categories: Annotated[tuple[Named, ...], Field(max_length=10)] = ()
    """By name; WordPress gets those that it lacks, if the account may make them. Of Ghost, the first is the primary tag."""
    tags: Annotated[tuple[Named, ...], Field(max_length=20)] = ()
    """By name; left out: the article's keyword."""
    author: Named | None = None
    """User name at WordPress, slug or mail address of an author at Ghost; left out: the account's own."""
    cover: bool = True
    """Whether the article's picture goes along."""
    address: Annotated[str, StringConstraints(max_length=500)] | None = None
    """Where readers find an article that went to `files` or a webhook: `https://example.org/blog/{slug}/`."""
    folder: Annotated[str, StringConstraints(max_length=200)] | None = None
    """Of `files`: within the operator's PUBLISH_FOLDER; left out: the brand's slug."""
    profile: Profile = "hugo"
    """Of `files`: whose front matter and names."""
    git: bool = False
    """Of `files`: whether the folder is a git repository in which each change is a commit; nothing is pushed."""

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if self.folder is not None and not _is_inside(self.folder):
            raise ValueError(
                "folder is a path inside PUBLISH_FOLDER, such as acme/blog, without .. and hidden folders"
            )
        if self.address is not None and not _is_address(self.address):
            raise ValueError("address is an http(s) address in which {slug} stands for the article's")
        return self

    def address_of(self, slug: str) -> str | None:
        return None if self.address is None else self.address.replace("{slug}", slug)


def _is_address(address: str) -> bool:
    sample = address.replace("{slug}", "slug")
    return _ADDRESS.fullmatch(sample) is not None and "{" not in sample and public_link(sample) == sample


def _is_inside(folder: str) -> bool:
    parts = folder.split("/")
    return all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._ -]*", part) for part in parts)
