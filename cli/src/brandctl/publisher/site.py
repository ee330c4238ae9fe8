"""`brandctl site`: what a brand decides about its site."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.errors import UsageError
from brandctl.publisher.client import PublisherUrl, Sites
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="site",
    no_args_is_help=True,
    help=f"""How a brand's site looks, and where it is found.

{Sites.help()}

For example:

    brandctl site set acme --accent "#1f6154" --tag espresso --tag "cold brew"
    brandctl site set acme --address https://blog.acme.example
    brandctl site set acme --clear address
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]


class Typefaces(StrEnum):
    SERIF = "serif"
    SANS = "sans"
    MIXED = "mixed"


class Setting(StrEnum):
    """What can be taken back."""

    ACCENT = "accent"
    TYPEFACES = "typefaces"
    TAGS = "tags"
    AUTHOR = "author"
    ADDRESS = "address"


@app.command(name="show")
def show(
    brand: Brand, as_json: AsJson = False, publisher_url: PublisherUrl = None, key_file: KeyFile = None
) -> None:
    """What is decided, and where the site is found."""
    with Sites.at(publisher_url, key_file) as sites:
        _show(sites.site(brand), as_json=as_json)


@app.command(name="set")
def decide(
    brand: Brand,
    accent: Annotated[
        str | None, typer.Option(metavar="#RRGGBB", help="Colour of links, tags and covers.")
    ] = None,
    typefaces: Annotated[
        Typefaces | None, typer.Option(help="With serifs, without, or headings without.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="A subject; articles about it have a page of their own. Repeat for all."),
    ] = None,
    author: Annotated[str | None, typer.Option(help="Named above articles, with a page.")] = None,
    about: Annotated[str | None, typer.Option(help="Some sentences about the author.")] = None,
    address: Annotated[
        str | None, typer.Option(help="An origin of its own, such as https://blog.acme.example.")
    ] = None,
    clear: Annotated[list[Setting] | None, typer.Option(help="Have it as if never set; repeat.")] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Changes what is named and leaves the rest as it is. Tags that are named replace those of before."""
    given: dict[str, Any] = {
        "accent": accent,
        "typefaces": typefaces,
        "tags": tag or None,
        "address": address,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if author is not None:
        changes["author"] = {"name": author, "about": about or ""}
    elif about is not None:
        raise UsageError("--about is about the author: name the --author, too")
    for setting in clear or ():
        if setting.value in changes:
            raise UsageError(f"--clear {setting}: you set it, too; say one of the two")
        changes[setting.value] = None
    if not changes:
        raise UsageError("say what is to change; brandctl site set --help lists what there is")
    with Sites.at(publisher_url, key_file) as sites:
        _show(sites.decide(brand, changes), as_json=as_json)


@app.command(name="views")
def views(
    brand: Brand,
    days: Annotated[int, typer.Option(min=1, max=400, help="So many, of which today is the last.")] = 30,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """How often its pages were looked at, most first: without robots, cookies and addresses, and without what caches answered."""
    with Sites.at(publisher_url, key_file) as sites:
        told = sites.views(brand, days)
    if as_json:
        print_json(told)
        return
    show_table(
        ("views", "article", "address"),
        [(str(page["views"]), page["title"], page["url"]) for page in told["pages"]],
    )
    note(f"{told['total']} views from {told['first']} to {told['last']}")


@app.command(name="reset")
def reset(
    brand: Brand, as_json: AsJson = False, publisher_url: PublisherUrl = None, key_file: KeyFile = None
) -> None:
    """Has the site be as it comes; an address of its own leads nowhere from then on. Pages and logo stay."""
    with Sites.at(publisher_url, key_file) as sites:
        sites.reset(brand)
        _show(sites.site(brand), as_json=as_json)


def _show(site: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(site)
        return
    author = site["author"]
    rows = [
        ("accent", site["accent"] or "as it comes"),
        ("typefaces", site["typefaces"]),
        ("tags", ", ".join(site["tags"]) or "-"),
        ("author", f"{author['name']}: {author['about']}".rstrip(": ") if author else "-"),
        ("address", site["address"] or "-"),
    ]
    show_table(("setting", "value"), rows)
    note(f"the site is at {site['url']}")
