"""`brandctl site`: the settings of a brand's site."""

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Annotated, Final, Literal
from zipfile import BadZipFile, ZipFile

import typer

from brandctl.commands import Group, Result, table
from brandctl.errors import CommandError, UsageError
from brandctl.options import Brand
from brandctl.settings import given_settings
from brandctl.terminal import write
from brandctl.times import to_second
from client.errors import UnreachableError
from client.services.publisher import Publisher, Typefaces

if TYPE_CHECKING:
    from client.services.publisher import answers

app = Group(
    "site",
    """Sets a brand's site, its look and its address; exports it and counts its views.

For example:

    brandctl site set acme --accent "#1f6154" --tag espresso --tag "cold brew"
    brandctl site set acme --address https://blog.acme.example
    brandctl site set acme --clear address
""",
    Publisher,
)

_FILE: Final = re.compile(r"[a-z0-9-]+(?:/[a-z0-9_-][a-z0-9._-]*)+")
"""File names that are accepted, so that no answer can write outside the folder."""
SiteSetting = Literal["accent", "typefaces", "tags", "author", "address", "canonical_source", "menu"]


@app.command()
def show(publisher: Publisher, brand: Brand) -> Result:
    """Shows the settings of a site, and its address."""
    return _shown(publisher.get_site_settings(brand))


@app.command("set")
def set_site(
    publisher: Publisher,
    brand: Brand,
    accent: Annotated[str | None, typer.Option(metavar="#RRGGBB")] = None,
    typefaces: Typefaces | None = None,
    tag: list[str] | None = None,
    author: str | None = None,
    about: str | None = None,
    address: str | None = None,
    canonical_source: Annotated[bool | None, typer.Option("--canonical-source/--no-canonical-source")] = None,
    menu: Annotated[list[str] | None, typer.Option(metavar="TITLE=PAGE")] = None,
    clear: list[SiteSetting] | None = None,
) -> Result:
    """Changes the given settings of a site; given tags and menu entries replace all previous ones.

    Options:
        accent: Colour of links, tags and covers.
        typefaces: serif, sans or mixed (headings without serifs).
        tag: A subject with a page for its articles; repeat for all.
        author: Name above articles, with a page of its own.
        about: Some sentences about the author.
        address: The site's own origin, such as https://blog.acme.example.
        canonical_source: An article that quotes a single source names that source's address as canonical.
        menu: An entry of the menu, such as "Cold brew=/tags/cold-brew" or "Shop=https://shop.acme.example"; repeat for all.
        clear: A setting to reset to its default; repeat for more.
    """
    if about is not None and author is None:
        raise UsageError("--about needs --author: give the author's name, too")
    settings = {
        "accent": accent,
        "typefaces": typefaces,
        "tags": tag or None,
        "author": None if author is None else {"name": author, "about": about or ""},
        "address": address,
        "canonical_source": canonical_source,
        "menu": [_menu_entry(each) for each in menu] if menu else None,
    }
    changes = given_settings(settings, clear or (), "site set")
    changes |= dict.fromkeys(clear or ())
    return _shown(publisher.update_site_settings(brand, **changes))


def _menu_entry(text: str) -> dict[str, str]:
    title, is_there, to = text.partition("=")
    if not is_there:
        raise UsageError(f"--menu {text}: write TITLE=PAGE, such as Search=/search/")
    return {"title": title, "to": to}


@app.command()
def export(
    publisher: Publisher,
    brand: Brand,
    to: Annotated[Path, typer.Argument(metavar="FOLDER")],
    address: str | None = None,
) -> Result:
    """Exports the whole site as files that link to each other, to open from a folder or to put on any host.

    Pages, lists, tags, feeds, site map and covers are included; the search is not, since it needs the publisher.

    Options:
        to: A new or empty folder, or the name of an archive such as site.zip.
        address: Future address of the files, such as https://example.org/news, for canonical addresses, feeds and the
            site map. [default: the site's present address]
    """
    is_archive = to.suffix == ".zip"
    if not is_archive and to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} exists and is not an empty folder: give another one, or empty it")
    with TemporaryFile() as archive:
        _download(publisher, brand, archive, address)
        with _opened(archive) as files:
            names = [name for name in files.namelist() if _FILE.fullmatch(name)]
            if not is_archive:
                _unpack(files, names, to)
        if is_archive:
            archive.seek(0)
            with to.open("wb") as kept:
                shutil.copyfileobj(archive, kept)
    told = f"{brand}: {len(names)} files in {to}" + ("" if is_archive else "; open its index.html")
    return Result({"brand": brand, "files": len(names), "to": str(to)}, note=told)


def _download(publisher: Publisher, brand: str, archive: IO[bytes], address: str | None) -> None:
    # The publisher draws missing pictures for it, which takes time.
    try:
        with publisher.export_site(brand, address=address) as parts:
            for part in parts:
                archive.write(part)
    except UnreachableError as error:
        raise CommandError(f"the site of {brand} was not exported completely: {error}") from error


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


@app.command()
def newsletter(
    publisher: Publisher,
    brand: Brand,
    article: str,
    to: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, writable=True)] = None,
) -> None:
    """Writes an article as HTML for mail programs: inline styles, absolute addresses, no tracking.

    Options:
        article: The last part of the article's address.
        to: File to write; else standard output.
    """
    if to is None and sys.stdout.isatty():
        raise UsageError("give --to FILE, or redirect the output to a file")
    document = publisher.get_newsletter(brand, article)
    if to is None:
        sys.stdout.write(document)
    else:
        to.write_text(document)


@app.command()
def views(
    publisher: Publisher, brand: Brand, days: Annotated[int, typer.Option(min=1, max=400)] = 30
) -> Result:
    """Lists the views of a site's pages, most first. Robots and answers from caches do not count.

    Options:
        days: Number of days, including today.
    """
    found = publisher.get_views(brand, days=days)
    rows = [(str(page["views"]), page["title"], page["url"]) for page in found["pages"]]
    total = f"{found['total']} views from {found['first']} to {found['last']}"
    return Result(found, table(("views", "article", "address"), rows), note=total)


@app.command()
def indexnow(
    publisher: Publisher, brand: Brand, on: Annotated[bool | None, typer.Option("--on/--off")] = None
) -> Result:
    """Shows or sets whether search engines are notified of changed addresses (IndexNow), and the latest results.

    This needs a site with a public address, and `brandctl accounts connect indexnow`.

    For example:

        brandctl accounts connect indexnow --all-brands
        brandctl site indexnow acme --on

    Options:
        on: Turn it on or off; off and on again gives it another key.
    """
    if on:
        publisher.enable_indexnow(brand)
    elif on is False:
        publisher.disable_indexnow(brand)
    found = publisher.get_indexnow(brand)
    if not found["is_on"]:
        return Result(found, note=f"{brand}: search engines are not notified")
    rows = [
        ("key", found["key_url"] or "-"),
        ("waiting", str(found["waiting"])),
        ("told", to_second(found["told_at"]) or "never"),
        ("problem", found["problem"] or "-"),
    ]
    return Result(found, table(("", ""), rows))


@app.command()
def logo(
    publisher: Publisher,
    brand: Brand,
    file: Annotated[Path | None, typer.Option("--set", metavar="FILE", dir_okay=False, exists=True)] = None,
    remove: bool = False,
) -> Result:
    """Shows or sets the logo of the site's pages and covers. A new logo redraws the covers.

    For example:

        brandctl site logo acme --set logo.png

    Options:
        file: PNG, JPEG or WebP, 1 MB at most.
        remove: Have none.
    """
    if file is not None and remove:
        raise UsageError("--set and --remove: give only one of the two")
    if remove:
        publisher.delete_logo(brand)
        return Result({}, note=f"{brand} has no logo any more")
    found = publisher.get_logo(brand) if file is None else publisher.set_logo(brand, file.read_bytes())
    size = f"{found['width']} by {found['height']} pixels"
    return Result(found, lambda: write(f"{found['url']}\n"), note=size)


@app.command()
def reset(publisher: Publisher, brand: Brand) -> Result:
    """Resets a site to the defaults. Its own address stops working; pages and logo stay."""
    publisher.reset_site_settings(brand)
    return _shown(publisher.get_site_settings(brand))


def _shown(site: "answers.SiteView") -> Result:
    author = site["author"]
    rows = [
        ("accent", site["accent"] or "as it comes"),
        ("typefaces", site["typefaces"]),
        ("tags", ", ".join(site["tags"]) or "-"),
        ("author", f"{author['name']}: {author['about']}".rstrip(": ") if author else "-"),
        ("address", site["address"] or "-"),
        ("menu", ", ".join(f"{each['title']}: {each['to']}" for each in site["menu"]) or "as it comes"),
        ("canonical", "the source, if it is a single one" if site["canonical_source"] else "the site"),
    ]
    return Result(site, table(("setting", "value"), rows), note=f"the site is at {site['url']}")
