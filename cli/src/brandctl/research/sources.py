"""`brandctl sources`: the places that research searches for a brand."""

from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.research.client import ResearchClient, ResearchUrl
from brandctl.terminal import out, print_json, printable

app = typer.Typer(
    name="sources",
    no_args_is_help=True,
    help=f"""Sets the places that research searches for a brand: the folder of documents, addresses, feeds, the web.

Without settings, a brand has only the folder. Requests to the web go through the gateway.

{ResearchClient.help()}

For example:

    brandctl sources set daily-grind --web --language en
    brandctl sources set daily-grind --no-folder --url https://example.org/guide
    brandctl sources show daily-grind
""",
)

_LISTS: Final = ("urls", "feeds", "blocked_hosts", "preferred_hosts", "own_hosts")

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")]


class FreshnessChoice(StrEnum):
    """The greatest age of pages."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    ANY = "any"


@app.command()
def show(
    brand: Brand, as_json: AsJson = False, research_url: ResearchUrl = None, key_file: KeyFile = None
) -> None:
    """Shows the places that research searches for a brand.

    For example:

        brandctl sources show daily-grind
    """
    with ResearchClient.at(research_url, key_file) as research:
        _show(research.sources(brand), as_json=as_json)


@app.command(name="set")
def set_sources(
    brand: Brand,
    folder: Annotated[
        bool | None, typer.Option("--folder/--no-folder", help="Search the folder of documents.")
    ] = None,
    web: Annotated[
        bool | None, typer.Option("--web/--no-web", help="Search the web; each search may cost money.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Language of the pages, such as en or pt-BR; “any” for all.")
    ] = None,
    freshness: Annotated[FreshnessChoice | None, typer.Option(help="The greatest age of the pages.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, max=3, help="Searches for one keyword.")] = None,
    propose: Annotated[
        bool | None,
        typer.Option(
            "--propose/--no-propose",
            help="A model proposes all searches but the first, with one call for each keyword.",
        ),
    ] = None,
    url: Annotated[
        list[str] | None, typer.Option(help="A page to read for every keyword; repeat for more.")
    ] = None,
    feed: Annotated[list[str] | None, typer.Option(help="A feed; repeat for more.")] = None,
    block: Annotated[
        list[str] | None, typer.Option(help="A host to skip, with its subdomains; repeat for more.")
    ] = None,
    prefer: Annotated[
        list[str] | None, typer.Option(help="A host whose pages come first; repeat for more.")
    ] = None,
    own: Annotated[
        list[str] | None,
        typer.Option(help="The brand's own host: digests may print its paragraphs; repeat for more."),
    ] = None,
    clear: Annotated[
        list[str] | None, typer.Option(help=f"A list to empty: {', '.join(_LISTS)}; repeat for more.")
    ] = None,
    as_json: AsJson = False,
    research_url: ResearchUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Changes the given settings of research for a brand. A given list replaces the previous one.

    For example:

        brandctl sources set daily-grind --web --language en --prefer example.org
        brandctl sources set daily-grind --no-web --clear urls
    """
    lists = {"urls": url, "feeds": feed, "blocked_hosts": block, "preferred_hosts": prefer, "own_hosts": own}
    given: dict[str, Any] = {name: values for name, values in lists.items() if values}
    for name in clear or []:
        if name not in _LISTS or name in given:
            raise typer.BadParameter(
                f"{name}: must be one of {', '.join(_LISTS)}, and not be set by the same command",
                param_hint="--clear",
            )
        given[name] = []
    if folder is not None:
        given["folder"] = folder
    how = {"language": language, "freshness": freshness and freshness.value, "queries": queries}
    how |= {"proposals": propose}
    how = {name: value for name, value in how.items() if value is not None}
    if how and web is False:
        raise typer.BadParameter(
            "--no-web goes with none of --language, --freshness, --queries and --propose"
        )
    if not given and not how and web is None:
        raise typer.BadParameter("no setting is given; `brandctl sources set --help` lists them")
    with ResearchClient.at(research_url, key_file) as research:
        before = research.sources(brand)
        searching = before.get("web")
        if web is False:
            given["web"] = None
        elif web or how:
            given["web"] = (searching or {}) | {
                name: None if value == "any" else value for name, value in how.items()
            }
        _show(research.set_sources(brand, before | given), as_json=as_json)


def _show(sources: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(sources)
        return
    searching = sources.get("web")
    lines = [
        ("folder", "searched" if sources.get("folder") else "not searched"),
        ("web", "not searched" if searching is None else _how(searching)),
        *((name, value) for name in _LISTS for value in sources.get(name, []) or ["none"]),
    ]
    told = ""
    for name, value in lines:
        label = name.replace("_", " ")
        out().file.write(f"{'' if label == told else label:<16}{printable(str(value))}\n")
        told = label


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
