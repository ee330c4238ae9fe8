"""`/v1/brands/{slug}/site`: a brand's settings of its site."""

import re
from http import HTTPStatus
from typing import Annotated, Final, Self

import asyncpg
from fastapi import APIRouter, Path, Response
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from chassis.http.api import (
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayOperate,
    MayRead,
    View,
    conditional,
    refusal,
    router,
)
from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import problem_codes as codes
from publisher.domain import Author, BrandSlug, MenuEntry, SiteSettings, Typefaces, clean_line, tag_slug
from publisher.site_settings import store
from publisher.site_settings.menu import menu_target
from publisher.site_settings.proof import HostProof, proof_path
from publisher.site_settings.store import host_name, is_public_host
from publisher.urls import SiteUrls

MOST_TAGS: Final = 20
MOST_ENTRIES: Final = 12
"""Of a menu."""
SITE: Final = "/v1/brands/{slug}/site"

_ADDRESS: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>(?=.{1,253}(?::|$))[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))*)"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?/?",
)
_WITHOUT_SAYING: Final = {"http": "80", "https": "443"}

Brand = Annotated[Slug, Path(description="The brand.")]


def _line(value: object) -> object:
    return clean_line(value) if isinstance(value, str) else value


def _address(value: str) -> str:
    match = _ADDRESS.fullmatch(value.lower())
    if match is None:
        raise ValueError("is no origin; write it like https://blog.example.org, without a path")
    if not is_public_host(match["host"]):
        raise ValueError(
            f"has the host '{match['host']}', which is no public name; give one such as blog.example.org"
        )
    port = match["port"]
    if port in {None, _WITHOUT_SAYING[match["scheme"]]}:
        return f"{match['scheme']}://{match['host']}"
    return f"{match['scheme']}://{match['host']}:{port}"


def _tags(value: tuple[str, ...]) -> tuple[str, ...]:
    slugs = [tag_slug(tag) for tag in value]
    if not all(slugs):
        raise ValueError("has one without any letter or digit; leave it out")
    if len(set(slugs)) < len(slugs):
        raise ValueError("has two that would be found at the same address; keep one of them")
    return value


_Line = BeforeValidator(_line)
_Tag = Annotated[str, _Line, Field(min_length=1, max_length=60)]


class AuthorChange(BaseModel):
    """The author that articles name."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    name: Annotated[str, _Line, Field(min_length=1, max_length=100)]
    about: Annotated[str, _Line, Field(max_length=1000)] = ""
    """Text for the author's page."""


class MenuEntryChange(BaseModel):
    """An entry of the site's menu."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    title: Annotated[str, _Line, Field(min_length=1, max_length=40)]
    to: Annotated[str, Field(max_length=300), AfterValidator(menu_target)]
    """A page of the site (`/`, `/cold-brew`, `/tags/espresso`, `/authors/ada`, `/search/`), or an address over https."""


class SiteChange(BaseModel):
    """A change of the settings: omitted fields stay, and `null` restores the default."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    accent: Annotated[str, Field(pattern="^#[0-9a-fA-F]{6}$")] | None = None
    """The brand's colour, `#1f6154`, for links and covers; pages use the nearest colour that is readable on light and on dark."""
    typefaces: Typefaces | None = None
    tags: Annotated[tuple[_Tag, ...], Field(max_length=MOST_TAGS), AfterValidator(_tags)] | None = None
    """An article gets a tag if its title, keyword or headings contain all words of it, in any grammatical form."""
    author: AuthorChange | None = None
    address: Annotated[str, Field(max_length=300), AfterValidator(_address)] | None = None
    """The site's own origin, `https://blog.example.org`; it has to lead to the publisher."""
    canonical_source: bool | None = None
    """Whether an article that quotes a single source names that source's address as canonical, so that search engines prefer it."""
    menu: Annotated[tuple[MenuEntryChange, ...], Field(max_length=MOST_ENTRIES)] | None = None
    """The entries of the menu, in this order, instead of those that every site has."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"says nothing to change; give one of {', '.join(SiteChange.model_fields)}")
        return self


class SiteView(View):
    """A brand's settings of its site."""

    url: str
    """The site's address, as in its canonical links."""
    accent: str | None
    typefaces: Typefaces
    tags: tuple[str, ...]
    author: Author | None
    address: str | None
    canonical_source: bool
    menu: tuple[MenuEntry, ...]


def site_settings_routes(
    database: Database, urls: SiteUrls, host_proof: HostProof | None = None
) -> APIRouter:
    """`host_proof` checks that a brand controls a host; without it, only an administrator sets another host."""
    routes = router(SITE.removeprefix("/v1"), tags=["sites"])

    def view(brand: BrandSlug, settings: SiteSettings) -> SiteView:
        home = urls.at(brand, settings.address)
        return SiteView(url=home.absolute(home.site(brand)), **dict(settings))

    @routes.get(
        "",
        summary="Get a brand's settings of its site",
        response_model=SiteView,
        responses={**READ, **UNKNOWN},
    )
    async def get_site_settings(caller: MayRead, slug: Brand, if_none_match: IfNoneMatch = None) -> Response:
        """Defaults apply to everything unset."""
        brand = BrandSlug(caller.check_visible(slug))
        async with database.connection() as connection:
            settings = await store.settings_of(connection, brand) or SiteSettings()
        return conditional(view(brand, settings).model_dump_json(), if_none_match)

    @routes.patch(
        "",
        summary="Change a brand's settings of its site",
        responses={**UNKNOWN, **refusal(HTTPStatus.CONFLICT, "The host is in use; `detail` says for what.")},
    )
    async def update_site_settings(change: SiteChange, caller: MayOperate, slug: Brand) -> SiteView:
        """Concurrent changes of different fields all take effect. Pages show a change within a minute.

        A key of the scope `admin` that is bound to no brand gives a site any `address`. With other keys the host stays, or a file
        proves that the brand controls the new one: the refusal says which file.
        """
        brand = BrandSlug(caller.check_visible(slug))
        if change.address is not None:
            await _check_host(database, urls, host_proof, caller, brand, change.address)
        given = change.model_dump(exclude_unset=True)
        wanted = {name: value for name, value in given.items() if value is not None}
        async with database.transaction() as tx:
            before = await store.lock_settings(tx.connection, brand)
            kept = before.model_dump(exclude=set(given))
            settings = SiteSettings.model_validate({**kept, **wanted})
            try:
                await store.save(tx.connection, brand, settings)
            except asyncpg.UniqueViolationError as error:
                taken = f"{change.address} leads to another brand's site; remove it there first"
                raise RefusalError(codes.ADDRESS_TAKEN, taken) from error
        return view(brand, settings)

    @routes.delete(
        "",
        status_code=HTTPStatus.NO_CONTENT,
        summary="Reset a brand's settings of its site",
        responses=UNKNOWN,
    )
    async def reset_site_settings(caller: MayOperate, slug: Brand) -> None:
        """Resets all settings; pages and logo stay. The site's own address stops working."""
        brand = BrandSlug(caller.check_visible(slug))
        async with database.transaction() as tx:
            await store.remove(tx.connection, brand)

    return routes


async def _check_host(
    database: Database,
    urls: SiteUrls,
    host_proof: HostProof | None,
    caller: Caller,
    brand: BrandSlug,
    address: str,
) -> None:
    """Raises RefusalError: the host is that of all sites, or nothing proves that the brand controls it."""
    if host_name(address) == host_name(urls.origin):
        raise RefusalError(
            codes.ADDRESS_RESERVED,
            f"{urls.origin} is the shared address of all sites; give the site a host of its own",
        )
    if caller.is_administrator:
        return
    async with database.connection() as connection:
        before = await store.address_of(connection, brand)
    if before is not None and host_name(before) == host_name(address):
        return
    # The shared address of the site: it identifies the brand and the installation.
    expected = urls.absolute(urls.site(brand))
    problem: str | None = "no file can be read"
    if host_proof is not None:
        problem = await host_proof.problem(address, brand, expected)
    if problem is not None:
        raise RefusalError(
            codes.ADDRESS_NOT_PROVEN,
            f"address: nothing proves that {address} is for '{brand}'. Either an administrator sets it, with a key of the scope"
            f" 'admin' that is bound to no brand; or {address}{proof_path(brand)} has the text {expected} before the name leads"
            f" to the publisher. About that file: {problem}",
        )
