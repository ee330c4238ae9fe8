"""`python -m messaging.contracts FOLDER`: write the published contracts into a folder."""

import argparse
from pathlib import Path

from messaging.contracts import generate


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m messaging.contracts", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to, such as docs")
    folder: Path = parser.parse_args().folder
    for name, text in generate().items():
        (folder / name).write_text(text, encoding="utf-8")


main()
