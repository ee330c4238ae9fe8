"""Writes the pages into a folder: `python -m reference_pages docs/reference`."""

import sys
from pathlib import Path

from reference_pages.pages import pages


def main(folder: Path) -> None:
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
