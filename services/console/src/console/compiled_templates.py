"""Templates as code that `compile_templates.py` made before the start.

A process that compiles them itself needs 90 ms and 5 MB more, which it keeps. It does so only for templates whose code is missing,
or that changed since.
"""

from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Final

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

import console

FOLDER: Final = Path(console.__path__[0]) / "__pycache__" / "templates"
"""Beside the code that Python made from the modules."""


class CompiledTemplates(BytecodeCache):
    """Reads a template's code from a folder, and never writes there: the files of a container belong to another user."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    def get_cache_key(self, name: str, filename: str | None = None) -> str:  # noqa: ARG002  (the library's signature)
        return f"{name.replace('/', '.')}.code"

    def load_bytecode(self, bucket: Bucket) -> None:
        # A missing or broken file is as one for another text.
        with suppress(OSError, EOFError, UnpicklingError), (self.folder / bucket.key).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        pass
