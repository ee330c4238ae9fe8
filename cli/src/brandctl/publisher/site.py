"""`brandctl site`: the settings of a brand's site."""

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
    help=f"""Sets a brand's site, its look and its address; exports it and counts its views.

{SitesClient.help()}

For example:

    brandctl site set acme --accent "#1f6154" --tag espresso --tag "cold brew"
    brandctl site set acme --address https://blog.acme.example
    brandctl site set acme --clear address
""",
)

_FILE: Final = re.compile(r"[a-z0-9-]+(?:/[a-z0-9_-][a-z0-9._-]*)+")
"""File names that are accepted, so that no answer can write outside the folder."""

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]


class TypefacesChoice(StrEnum):
    SERIF = "serif"
    SANS = "sans"
    MIXED = "mixed"


class SiteSetting(StrEnum):
    """Settings that can be cleared."""

    ACCENT = "accent"
    TYPEFACES = "typefaces"
    TAGS = "tags"
    AUTHOR = "author"
    ADDRESS = "address"


@app.command(name="show")
def show(
    brand: Brand, as_json: AsJson = False, publisher_url: PublisherUrl = None, key_file: KeyFile = None
) -> None:
    """Shows the settings of a site, and its address."""
    with SitesClient.at(publisher_url, key_file) as sites:
        _show(sites.site(brand), as_json=as_json)


@app.command(name="set")
def decide(
    brand: Brand,
    accent: Annotated[
        str | None, typer.Option(metavar="#RRGGBB", help="Colour of links, tags and covers.")
    ] = None,
    typefaces: Annotated[
        TypefacesChoice | None, typer.Option(help="serif, sans or mixed (headings without serifs).")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="A subject with a page for its articles; repeat for all."),
    ] = None,
    author: Annotated[str | None, typer.Option(help="Name above articles, with a page of its own.")] = None,
    about: Annotated[str | None, typer.Option(help="Some sentences about the author.")] = None,
    address: Annotated[
        str | None, typer.Option(help="The site's own origin, such as https://blog.acme.example.")
    ] = None,
    clear: Annotated[
        list[SiteSetting] | None, typer.Option(help="A setting to reset to its default; repeat for more.")
    ] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Changes the given settings of a site; given tags replace all previous tags."""
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
        raise UsageError("--about needs --author: give the author's name, too")
    for setting in clear or ():
        if setting.value in changes:
            raise UsageError(f"--clear {setting}: the same command sets it; give only one of the two")
        changes[setting.value] = None
    if not changes:
        raise UsageError("no setting is given; brandctl site set --help lists them")
    with SitesClient.at(publisher_url, key_file) as sites:
        _show(sites.decide(brand, changes), as_json=as_json)


@app.command(name="export")
def export(
    brand: Brand,
    to: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="A new or empty folder, or the name of an archive such as site.zip."
        ),
    ],
    address: Annotated[
        str | None,
        typer.Option(
            help="Future address of the files, such as https://example.org/news, for canonical addresses, feeds and the site map.",
            show_default="the site's present address",
        ),
    ] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Exports the whole site as files that link to each other, to open from a folder or to put on any host.

    Pages, lists, tags, feeds, site map and covers are included; the search is not, since it needs the publisher.
    """
    is_archive = to.suffix == ".zip"
    if not is_archive and to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} exists and is not an empty folder: give another one, or empty it")
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
        raise CommandError("the answer is no archive: check the publisher's address") from error


def _unpack(files: ZipFile, names: list[str], to: Path) -> None:
    """Unpacks the files without the top folder, which has the brand's name."""
    for name in names:
        path = to.joinpath(*name.split("/")[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.open(name) as file, path.open("wb") as kept:
            shutil.copyfileobj(file, kept)


@app.command(name="newsletter")
def newsletter(
    brand: Brand,
    article: Annotated[
        str, typer.Argument(metavar="ARTICLE", help="The last part of the article's address.")
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", dir_okay=False, writable=True, help="File to write; else standard output."
        ),
    ] = None,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Writes an article as HTML for mail programs: inline styles, absolute addresses, no tracking."""
    if to is None and sys.stdout.isatty():
        raise UsageError("give --to FILE, or redirect the output to a file")
    with SitesClient.at(publisher_url, key_file) as sites:
        document = sites.newsletter(brand, article)
    if to is None:
        sys.stdout.write(document)
    else:
        to.write_text(document)


@app.command(name="views")
def views(
    brand: Brand,
    days: Annotated[int, typer.Option(min=1, max=400, help="Number of days, including today.")] = 30,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the views of a site's pages, most first. Robots and answers from caches do not count."""
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
    """Shows or sets whether search engines are notified of changed addresses (IndexNow), and the latest results.

    This needs a site with a public address, and `brandctl accounts connect indexnow`.

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
        note(f"{brand}: search engines are not notified")
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
    """Shows or sets the logo of the site's pages and covers. A new logo redraws the covers.

    For example:

        brandctl site logo acme --set logo.png
    """
    if file is not None and remove:
        raise UsageError("--set and --remove: give only one of the two")
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
    """Resets a site to the defaults. Its own address stops working; pages and logo stay."""
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
