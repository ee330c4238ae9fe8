"""The documentations that are measured, and where their Debian packages put them."""

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_INSTALL: Final = _ROOT / "deploy/local/install-packages.sh"
CORPORA: Final = {
    "coffee": _ROOT / "deploy/demo/corpus",
    "bicycles": Path(__file__).parent / "bicycles",
    "nursery": Path(__file__).parent / "nursery",
    "high-street": Path(__file__).parent / "high_street",
}
"""Short pages in prose; `keywords/NAME.tsv` has what a marketer would type."""


_ENGLISH: Final = re.compile(r"(?:^|[-_])en(?:[-_]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Documentation:
    """A Debian package with a manual in HTML, and the program that made the pages."""

    package: str
    made_with: str


DOCUMENTATIONS: Final = (
    Documentation("debian-handbook", "Publican"),
    Documentation("octave-doc", "makeinfo"),
    Documentation("postfix-doc", "by hand, man2html"),
    Documentation("borgbackup-doc", "Sphinx"),
    Documentation("doxygen-doc", "Doxygen"),
    Documentation("mkdocs-doc", "MkDocs"),
    Documentation("gnucash-docs", "DocBook, Yelp's stylesheets"),
    Documentation("qtbase5-doc-html", "QDoc"),
    Documentation("rsyslog-doc", "Sphinx, its own theme"),
    Documentation("sqlite3-doc", "by hand"),
)


def folder_of(package: str, *, install: bool = False) -> Path:
    """Returns the folder of a package's pages.

    Raises:
        FileNotFoundError: the package is not installed, or has no pages.
        subprocess.CalledProcessError: it cannot be installed.
    """
    files = _files(package)
    if not files and install:
        subprocess.run([_INSTALL, package], check=True)
        files = _files(package)
    pages = [path for path in files if path.suffix == ".html" and path.is_file()]
    if not pages:
        raise FileNotFoundError(f"{package} is not installed: {_INSTALL.relative_to(_ROOT)} {package}")
    return choose_folder(pages)


def choose_folder(pages: list[Path]) -> Path:
    """Returns the topmost folder with an index.html that has most pages; of translations, an English one."""
    fronts = {path.parent for path in pages if path.name == "index.html"}
    tops = [folder for folder in fronts if not fronts.intersection(folder.parents)]
    if not tops:
        return Counter(path.parent for path in pages).most_common(1)[0][0]
    counts = {folder: sum(folder in path.parents for path in pages) for folder in tops}
    return max(tops, key=lambda folder: (bool(_ENGLISH.search(folder.name)), counts[folder], str(folder)))


def _files(package: str) -> list[Path]:
    listed = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False)
    return [Path(line) for line in listed.stdout.splitlines()] if listed.returncode == 0 else []
