"""Takes out of an image what only tests need: the tests that libraries bring along, and what our own libraries offer to tests.

    python remove_tests.py FOLDER

Our own libraries are the folders of `shared` in the current folder. A library's own `testing` stays: some import it when they are used.
"""

import shutil
import sys
from pathlib import Path


def main(folder: Path) -> None:
    for tests in sorted(folder.rglob("tests")):
        # Gone already, where it was within another one.
        if tests.is_dir():
            shutil.rmtree(tests)
    for package in sorted(path.name for path in Path("shared").iterdir()):
        shutil.rmtree(folder / package / "testing", ignore_errors=True)
        for module in folder.glob(f"{package}/**/testing.*py*"):
            module.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
