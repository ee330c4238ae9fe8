"""Writes TypeScript types of the services' HTTP APIs, made from the same OpenAPI documents as the Python client.

`python -m client.typescript FOLDER` writes `FOLDER/orchestrator.d.ts` and so on. It needs npm: the locked packages of
`shared/client/typescript` are installed in `build/typescript`.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from client.generator import SERVICES, document_of

_ROOT: Final = Path(__file__).parents[4]
LOCKED: Final = _ROOT / "shared" / "client" / "typescript"
INSTALLED: Final = _ROOT / "build" / "typescript"
_FILES: Final = ("package.json", "package-lock.json")


class TypeScriptError(Exception):
    """The types cannot be made; the message says what to do."""


def program(name: str) -> Path:
    """Returns a program of the locked packages, and installs them if they are not there.

    Raises:
        TypeScriptError: npm is missing, or cannot install them.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise TypeScriptError("TypeScript types need node with npm; run: deploy/local/setup.sh tools")
    wanted = "".join((LOCKED / each).read_text(encoding="utf-8") for each in _FILES)
    stamp = INSTALLED / "installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        INSTALLED.mkdir(parents=True, exist_ok=True)
        for each in _FILES:
            shutil.copy(LOCKED / each, INSTALLED)
        _run([npm, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], INSTALLED)
        stamp.write_text(wanted, encoding="utf-8")
    return INSTALLED / "node_modules" / ".bin" / name


def write_types(folder: Path, services: Sequence[str] = SERVICES) -> None:
    """Writes a file with the types of each service.

    Raises:
        TypeScriptError: the generator refuses a document, or is not there.
    """
    generate = program("openapi-typescript")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as empty:
        for service in services:
            document = Path(empty) / f"{service}.json"
            corpus = Path(empty) / f"{service}-corpus"
            corpus.mkdir()
            document.write_text(json.dumps(document_of(service, corpus)), encoding="utf-8")
            _run([str(generate), str(document), "-o", str((folder / f"{service}.d.ts").resolve())], INSTALLED)


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603 - our own
    if done.returncode:
        raise TypeScriptError(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout)[-1000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    try:
        write_types(parser.parse_args().folder)
    except TypeScriptError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
