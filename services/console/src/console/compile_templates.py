"""`python -m console.compile_templates` makes the code of all templates, which the console then loads as it loads modules."""

from pathlib import Path

from jinja2 import BaseLoader, Environment
from jinja2.bccache import Bucket

from console.compiled_templates import FOLDER, CompiledTemplates
from console.pages.layout import templates


class _Compiler(CompiledTemplates):
    def dump_bytecode(self, bucket: Bucket) -> None:
        # Complete, whenever a console reads it.
        written = self.folder / f"{bucket.key}.new"
        written.write_bytes(bucket.bytecode_to_string())
        written.replace(self.folder / bucket.key)


def compile_templates(environment: Environment, folder: Path = FOLDER) -> int:
    """Makes the code of all templates anew, and returns their number."""
    loader = environment.loader
    assert isinstance(loader, BaseLoader)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    compiling = environment.overlay(bytecode_cache=_Compiler(folder))
    names = loader.list_templates()
    for name in names:
        loader.load(compiling, name)
    return len(names)


if __name__ == "__main__":
    compile_templates(templates())
