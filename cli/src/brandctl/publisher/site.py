"""`brandctl site`: what a brand decides about its site."""

import re
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Final
from zipfile import BadZipFile, ZipFile

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.errors import CommandError, UsageError
from brandctl.publisher.client import PublisherUrl, SitesClient
from brandctl.tables import show_table
from brandctl.terminal import note, out, print_json, printable

app = typer.Typer(
    name="site",
    no_args_is_help=True,
    help=f"""How a brand's site looks, and where it is found.

{SitesClient.help()}

For example:

    brandctl site set acme --accent "#1f6154" --tag espresso --tag "cold brew"
    brandctl site set acme --address https://blog.acme.example
    brandctl site set acme --clear address
""",
)

_FILE: Final = re.compile(r"[a-z0-9-]+(?:/[a-z0-9_-][a-z0-9._-]*)+")
"""Names that the publisher gives: whatever answers, nothing is written elsewhere than into the folder."""

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]


class TypefacesChoice(StrEnum):
    SERIF = "serif"
    SANS = "sans"
    MIXED = "mixed"


class SiteSetting(StrEnum):
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
    with SitesClient.at(publisher_url, key_file) as sites:
        _show(sites.site(brand), as_json=as_json)


@app.command(name="set")
def decide(
    brand: Brand,
    accent: Annotated[
        str | None, typer.Option(metavar="#RRGGBB", help="Colour of links, tags and covers.")
    ] = None,
    typefaces: Annotated[
        TypefacesChoice | None, typer.Option(help="With serifs, without, or headings without.")
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
    clear: Annotated[list[SiteSetting] | None, typer.Option(help="Have it as if never set; repeat.")] = None,
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
    with SitesClient.at(publisher_url, key_file) as sites:
        _show(sites.decide(brand, changes), as_json=as_json)


@app.command(name="export")
def export(
    brand: Brand,
    to: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="New or empty; or the name of an archive, site.zip.")
    ],
    address: Annotated[
        str | None,
        typer.Option(
            help="Where the files will be found, such as https://example.org/news, for canonical addresses, feeds and the site map.",
            show_default="where the site is now",
        ),
    ] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """The whole site as files that link to each other: to be opened from the folder, or put on any host.

    Pages, lists, tags, feeds, site map and covers are there; the search, which needs the publisher, is not.
    """
    is_archive = to.suffix == ".zip"
    if not is_archive and to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} is there and not an empty folder: name another, or empty it")
    with SitesClient.at(publisher_url, key_file) as sites, TemporaryFile() as archive:
        sites.export(brand, archive, address)
        with _opened(archive) as files:
            names = [name for name in files.namelist() if _FILE.fullmatch(name)]
            if not is_archive:
                _unpack(files, names, to)
        if is_archive:
            archive.seek(0)
            with to.open("wb") as kept:
                shutil.copyfileobj(archive, kept)
    if as_json:
        print_json({"brand": brand, "files": len(names), "to": str(to)})
    else:
        note(f"{brand}: {len(names)} files in {to}" + ("" if is_archive else "; open its index.html"))


def _opened(archive: IO[bytes]) -> ZipFile:
    try:
        return ZipFile(archive)
    except BadZipFile as error:
        raise CommandError("what came is no archive; is that the publisher's address?") from error


def _unpack(files: ZipFile, names: list[str], to: Path) -> None:
    """Without the folder that is named like the brand."""
    for name in names:
        path = to.joinpath(*name.split("/")[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.open(name) as file, path.open("wb") as kept:
            shutil.copyfileobj(file, kept)


@app.command(name="newsletter")
def newsletter(
    brand: Brand,
    article: Annotated[str, typer.Argument(metavar="ARTICLE", help="The last part of its address.")],
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, writable=True, help="Else standard output."),
    ] = None,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """An article as HTML that mail programs show: styles at each element, whole addresses, nothing that tells who has read it."""
    if to is None and sys.stdout.isatty():
        raise UsageError("say --to FILE, or send the output into one")
    with SitesClient.at(publisher_url, key_file) as sites:
        document = sites.newsletter(brand, article)
    if to is None:
        sys.stdout.write(document)
    else:
        to.write_text(document)


@app.command(name="views")
def views(
    brand: Brand,
    days: Annotated[int, typer.Option(min=1, max=400, help="So many, of which today is the last.")] = 30,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """How often its pages were looked at, most first: without robots, cookies and addresses, and without what caches answered."""
    with SitesClient.at(publisher_url, key_file) as sites:
        told = sites.views(brand, days)
    if as_json:
        print_json(told)
        return
    show_table(
        ("views", "article", "address"),
        [(str(page["views"]), page["title"], page["url"]) for page in told["pages"]],
    )
    note(f"{told['total']} views from {told['first']} to {told['last']}")


@app.command(name="indexnow")
def indexnow(
    brand: Brand,
    on: Annotated[
        bool | None,
        typer.Option("--on/--off", help="Turn it on or off; off and on again gives it another key."),
    ] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Whether search engines are told of addresses that change (IndexNow), and how that goes.

    Only of a site with a public address, and once `brandctl accounts connect indexnow` lets it out.

    For example:

        brandctl accounts connect indexnow --all-brands
        brandctl site indexnow acme --on
    """
    with SitesClient.at(publisher_url, key_file) as sites:
        if on is not None:
            sites.turn_indexnow(brand, on=on)
        found = sites.indexnow(brand)
    if as_json:
        print_json(found)
        return
    if not found["is_on"]:
        note(f"{brand}: engines are told of nothing")
        return
    rows = [
        ("key", found["key_url"] or "-"),
        ("waiting", str(found["waiting"])),
        ("told", (found["told_at"] or "never")[:19].replace("T", " ")),
        ("problem", found["problem"] or "-"),
    ]
    show_table(("", ""), rows)


@app.command(name="logo")
def logo(
    brand: Brand,
    file: Annotated[
        Path | None,
        typer.Option(
            "--set", metavar="FILE", dir_okay=False, exists=True, help="PNG, JPEG or WebP, 1 MB at most."
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Have none.")] = False,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """The logo at the top of its pages and on its covers: shows where it is, or gives the brand one. Covers are drawn anew with it.

    For example:

        brandctl site logo acme --set logo.png
    """
    if file is not None and remove:
        raise UsageError("--set and --remove: say one of the two")
    with SitesClient.at(publisher_url, key_file) as sites:
        if remove:
            sites.remove_logo(brand)
            found = None
        else:
            found = sites.logo(brand) if file is None else sites.set_logo(brand, file.read_bytes())
    if as_json:
        print_json(found or {})
    elif found is None:
        note(f"{brand} has no logo any more")
    else:
        out().file.write(printable(found["url"]) + "\n")
        note(f"{found['width']} by {found['height']} pixels")


@app.command(name="reset")
def reset(
    brand: Brand, as_json: AsJson = False, publisher_url: PublisherUrl = None, key_file: KeyFile = None
) -> None:
    """Has the site be as it comes; an address of its own leads nowhere from then on. Pages and logo stay."""
    with SitesClient.at(publisher_url, key_file) as sites:
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
