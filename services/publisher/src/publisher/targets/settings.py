"""A brand's settings for a target, as the API accepts and the database stores them."""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from chassis.links import public_link
from integrations.sites import SiteName

NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
_ADDRESS: Final = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#]*)?")

Profile = Literal["hugo", "astro", "jekyll", "eleventy"]
Named = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$"),
]


class TargetSettings(BaseModel):
    """A brand's settings for a target; each field says its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: SiteName | None = None
    """The kind of target; default: the target's name or its account's kind."""
    account: Annotated[str, Field(pattern=NAME_PATTERN, max_length=63)] | None = None
    """The gateway's account; default: the one with the target's name, or the brand's only one of this kind."""
    categories: Annotated[tuple[Named, ...], Field(max_length=10)] = ()
    """Names of categories; WordPress creates missing ones if the account may. At Ghost, the first is the primary tag."""
    tags: Annotated[tuple[Named, ...], Field(max_length=20)] = ()
    """Names of tags; default: the article's keyword."""
    author: Named | None = None
    """User name at WordPress, slug or mail address of an author at Ghost; default: the account's own user."""
    cover: bool = True
    """Whether to send the article's cover."""
    address: Annotated[str, StringConstraints(max_length=500)] | None = None
    """Address of an article from `files` or a webhook, for readers: `https://example.org/blog/{slug}/`."""
    folder: Annotated[str, StringConstraints(max_length=200)] | None = None
    """For `files`: a folder within the operator's PUBLISH_FOLDER; default: the brand's slug."""
    profile: Profile = "hugo"
    """For `files`: the site generator that reads them."""
    git: bool = False
    """For `files`: whether the folder is a git repository, with a commit for each change; nothing is pushed."""

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if self.folder is not None and not _is_inside(self.folder):
            raise ValueError(
                "folder is a path inside PUBLISH_FOLDER, such as acme/blog, without .. and hidden folders"
            )
        if self.address is not None and not _is_address(self.address):
            raise ValueError("address is an http(s) address with {slug} in the place of the article's slug")
        return self

    def address_of(self, slug: str) -> str | None:
        return None if self.address is None else self.address.replace("{slug}", slug)


def _is_address(address: str) -> bool:
    sample = address.replace("{slug}", "slug")
    return _ADDRESS.fullmatch(sample) is not None and "{" not in sample and public_link(sample) == sample


def _is_inside(folder: str) -> bool:
    parts = folder.split("/")
    return all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._ -]*", part) for part in parts)
