"""Makes a site of the documents: `make docs`. Its pages are the Markdown files of the repository, at their places.

Links to files that are no pages become plain text. Afterwards every link within the site is followed, and nothing may be
loaded from elsewhere.
"""

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

ROOT: Final = Path(__file__).resolve().parents[3]
BUILD: Final = ROOT / "build/docs"
LEFT_OUT: Final = ("tests/articles/", "deploy/demo/corpus/", "shared/writing/tests/")
"""Documents of tests and of the demo."""
BESIDE_PAGES: Final = (".webp", ".svg", ".png", ".json")
_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_HEADING: Final = re.compile(r"(?m)^## (.+)$")
_CONFIGURATION: Final = """\
[project]
site_name = "Brand Engine"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.path", "navigation.top", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/moon"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/sun"
toggle.name = "Light"

[project.markdown_extensions]
tables = {{}}
pymdownx.highlight = {{}}
pymdownx.superfences = {{}}
toc.permalink = true
toc.slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
"""


def tracked() -> list[str]:
    """Returns the paths of all files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]


def chosen(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the pages, and the files that they show or offer."""
    pages = [path for path in paths if path.endswith(".md") and not path.startswith(LEFT_OUT)]
    beside = [path for path in paths if path.startswith("docs/") and path.endswith(BESIDE_PAGES)]
    return pages, beside


def with_links(text: str, page: str, known: frozenset[str]) -> str:
    """Returns a page whose links to folders lead to their README, and whose links to other files are their texts alone."""

    def link(match: re.Match[str]) -> str:
        label, target = match[1], match[2]
        path, mark, anchor = target.partition("#")
        if not path or urlsplit(target).scheme:
            return match[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if place in known:
            return match[0]
        if f"{place}/README.md" in known:
            return f"[{label}]({path.rstrip('/')}/README.md{mark}{anchor})"
        return label

    return _LINK.sub(link, text)


def navigation(index: str) -> str:
    """Returns the menu as TOML: the sections of docs/README.md with the pages that they link to."""
    parts = _HEADING.split(index)
    sections = [_entry("Brand Engine", "README.md"), _entry("All documents", "docs/README.md")]
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        entries = [
            _entry(label, posixpath.normpath(f"docs/{target}"))
            for label, target in _LINK.findall(body)
            if target.endswith(".md")
        ]
        if entries:
            sections.append(f'{{ "{heading}" = [{", ".join(entries)}] }}')
    return f"[{', '.join(sections)}]"


def _entry(label: str, page: str) -> str:
    name = label.replace("`", "")
    return f'{{ "{name[0].upper()}{name[1:]}" = "{page}" }}'


class _Page(HTMLParser):
    """The ids of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in {"img", "script", "iframe", "source"} and "src" in values:
            self.loads.append(values["src"])
        elif tag == "link" and values.get("rel") in {"stylesheet", "preload", "icon", "preconnect"}:
            self.loads.append(values.get("href", ""))


def wrong(site: Path) -> Iterator[str]:
    """Yields each link that leads nowhere, and each thing that a page loads from elsewhere."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads:
                    yield f"{path.relative_to(site)}: loads {target}"
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not place.exists() or (
                fragment
                and place in pages
                and fragment not in pages[place].ids
                and not fragment.startswith("__")
            ):
                yield f"{path.relative_to(site)}: {target} leads nowhere"


def main() -> int:
    pages, beside = chosen(tracked())
    known = frozenset((*pages, *beside))
    shutil.rmtree(BUILD, ignore_errors=True)
    for path in known:
        place = BUILD / "pages" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path in beside:
            shutil.copyfile(ROOT / path, place)
        else:
            place.write_text(
                with_links((ROOT / path).read_text(encoding="utf-8"), path, known), encoding="utf-8"
            )
    nav = navigation((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    (BUILD / "zensical.toml").write_text(_CONFIGURATION.format(nav=nav), encoding="utf-8")
    made = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict"], cwd=BUILD, check=False
    )
    if made.returncode:
        return made.returncode
    found = list(wrong(BUILD / "site"))
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages are in {BUILD.relative_to(ROOT)}/site. To read them:")
    print(f"  python3 -m http.server --bind 127.0.0.1 --directory {BUILD.relative_to(ROOT)}/site")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
