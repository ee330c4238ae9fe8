"""`brandctl sources`: the places that research searches for a brand."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import typer

from brandctl.commands import Group, Result, table
from brandctl.options import Brand
from brandctl.settings import given
from brandctl.terminal import out, printable
from client.services.research import Research

app = Group(
    "sources",
    """Sets the places that research searches for a brand: the folder of documents, addresses, feeds, the web.

Without settings, a brand has only the folder. Requests to the web go through the gateway.

For example:

    brandctl sources set daily-grind --web --language en
    brandctl sources set daily-grind --no-folder --url https://example.org/guide
    brandctl sources show daily-grind
    brandctl sources topics daily-grind
""",
    Research,
)

_LISTS: Final = ("urls", "feeds", "blocked_hosts", "preferred_hosts", "own_hosts")


@app.command()
def show(research: Research, brand: Brand) -> Result:
    """Shows the places that research searches for a brand.

    For example:

        brandctl sources show daily-grind
    """
    return _shown(research.get_sources(brand))


@app.command("set")
def set_sources(
    research: Research,
    brand: Brand,
    folder: Annotated[bool | None, typer.Option("--folder/--no-folder")] = None,
    web: Annotated[bool | None, typer.Option("--web/--no-web")] = None,
    language: str | None = None,
    freshness: Literal["day", "week", "month", "year", "any"] | None = None,
    queries: Annotated[int | None, typer.Option(min=1, max=3)] = None,
    propose: Annotated[bool | None, typer.Option("--propose/--no-propose")] = None,
    url: list[str] | None = None,
    feed: list[str] | None = None,
    block: list[str] | None = None,
    prefer: list[str] | None = None,
    own: list[str] | None = None,
    clear: Annotated[
        list[str] | None, typer.Option(help=f"A list to empty: {', '.join(_LISTS)}; repeat for more.")
    ] = None,
) -> Result:
    """Changes the given settings of research for a brand. A given list replaces the previous one.

    For example:

        brandctl sources set daily-grind --web --language en --prefer example.org
        brandctl sources set daily-grind --no-web --clear urls

    Options:
        folder: Search the folder of documents.
        web: Search the web; each search may cost money.
        language: Language of the pages, such as en or pt-BR; “any” for all.
        freshness: The greatest age of the pages.
        queries: Searches for one keyword.
        propose: A model proposes all searches but the first, with one call for each keyword.
        url: A page to read for every keyword; repeat for more.
        feed: A feed; repeat for more.
        block: A host to skip, with its subdomains; repeat for more.
        prefer: A host whose pages come first; repeat for more.
        own: The brand's own host: digests may print its paragraphs; repeat for more.
    """
    lists = {"urls": url, "feeds": feed, "blocked_hosts": block, "preferred_hosts": prefer, "own_hosts": own}
    changes: dict[str, Any] = {name: values for name, values in lists.items() if values}
    for name in clear or []:
        if name not in _LISTS or name in changes:
            raise typer.BadParameter(
                f"{name}: must be one of {', '.join(_LISTS)}, and not be set by the same command",
                param_hint="--clear",
            )
        changes[name] = []
    if folder is not None:
        changes["folder"] = folder
    how = given(language=language, freshness=freshness, queries=queries, proposals=propose)
    if how and web is False:
        raise typer.BadParameter(
            "--no-web goes with none of --language, --freshness, --queries and --propose"
        )
    if not changes and not how and web is None:
        raise typer.BadParameter("no setting is given; `brandctl sources set --help` lists them")
    before = research.get_sources(brand)
    if web is False:
        changes["web"] = None
    elif web or how:
        chosen = {name: None if value == "any" else value for name, value in how.items()}
        changes["web"] = {**(before.get("web") or {}), **chosen}
    return _shown(research.set_sources(brand, extra={**before, **changes}))


@app.command()
def topics(
    research: Research,
    brand: Brand,
    after: Annotated[int, typer.Option(min=0, help="Go on from here, as the command before says.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100, help="The most keywords.")] = 20,
) -> Result:
    """Lists keywords that the brand's documents treat.

    For example:

        brandctl sources topics daily-grind
    """
    found = research.list_topics(brand, after=after, limit=limit)
    if not found["items"] and found["next"] is None:
        return Result(
            found,
            error="No document treats a subject at length, or none is read yet: brandctl documents list",
        )
    rows = [(each["keyword"], each["page"], str(each["words"])) for each in found["items"]]
    note = "" if found["next"] is None else f"There may be more: --after {found['next']}"
    return Result(found, table(("keyword", "document", "words"), rows), note=note)


def _shown(sources: Mapping[str, Any]) -> Result:
    searching = sources.get("web")
    lines = [
        ("folder", "searched" if sources.get("folder") else "not searched"),
        ("web", "not searched" if searching is None else _how(searching)),
        *((name, value) for name in _LISTS for value in sources.get(name, []) or ["none"]),
    ]

    def show_lines() -> None:
        told = ""
        for name, value in lines:
            label = name.replace("_", " ")
            out().file.write(f"{'' if label == told else label:<16}{printable(str(value))}\n")
            told = label

    return Result(sources, show_lines)


def _how(searching: dict[str, Any]) -> str:
    language, freshness = searching.get("language"), searching.get("freshness")
    return ", ".join(
        [
            f"{searching.get('queries')} searches for a keyword"
            + (" (proposed by a model)" if searching.get("proposals") else ""),
            f"language {language}" if language else "any language",
            f"of the last {freshness}" if freshness else "of any age",
        ]
    )
