"""The pictures of the documents are there, each is shown somewhere, and all of them weigh little."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
IMAGES: Final = ROOT / "docs" / "images"
MOST_BYTES: Final = 150_000
MOST_BYTES_OF_SCREENS: Final = 1_500_000


def pictures() -> set[Path]:
    return {path for path in IMAGES.rglob("*") if path.is_file()}


def shown() -> set[Path]:
    """The pictures of the folder that the documents show or link to."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/*/README.md")]
    return {
        found
        for page in pages
        for link in re.findall(r"""(?:\]\(|(?:src|srcset)=")([^)"\s]+)""", page.read_text())
        if IMAGES in (found := (page.parent / link).resolve()).parents
    }


def test_each_is_there_and_shown() -> None:
    assert shown() - pictures() == set(), "not there: make pictures"
    assert pictures() - shown() == set(), "no document shows these"


def test_they_are_light() -> None:
    screens = [path.stat().st_size for path in pictures() if path.suffix == ".webp"]
    assert all(size <= MOST_BYTES for size in screens)
    assert sum(screens) <= MOST_BYTES_OF_SCREENS
