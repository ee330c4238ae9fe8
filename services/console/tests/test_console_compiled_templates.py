"""Templates whose code was made before are not compiled again, and changed ones are."""

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from console.compile_templates import compile_templates
from console.compiled_templates import CompiledTemplates
from console.pages.layout import templates

SHOWS = "Hello {{ name }}{% include 'parts/end.j2' %}"
SOURCES = {"pages/hello.j2": SHOWS, "parts/end.j2": "!"}


def environment(folder: Path, sources: dict[str, str]) -> Environment:
    return Environment(loader=DictLoader(sources), autoescape=True, bytecode_cache=CompiledTemplates(folder))


def shown(made: Environment) -> str:
    return made.get_template("pages/hello.j2").render(name="<Ada>")


def test_code_is_loaded_and_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_templates(environment(tmp_path, SOURCES), tmp_path) == 2
    monkeypatch.setattr(Environment, "compile", None)
    assert shown(environment(tmp_path, SOURCES)) == "Hello &lt;Ada&gt;!"


def test_a_template_that_changed_is_compiled_anew_and_nothing_is_written(tmp_path: Path) -> None:
    compile_templates(environment(tmp_path, SOURCES), tmp_path)
    before = {each: each.read_bytes() for each in tmp_path.iterdir()}
    changed = environment(tmp_path, SOURCES | {"parts/end.j2": "?"})
    assert shown(changed) == "Hello &lt;Ada&gt;?"
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_without_a_folder_or_with_broken_code_pages_are_shown(tmp_path: Path) -> None:
    assert shown(environment(tmp_path / "missing", SOURCES)) == "Hello &lt;Ada&gt;!"
    compile_templates(environment(tmp_path, SOURCES), tmp_path)
    for each in tmp_path.iterdir():
        each.write_bytes(each.read_bytes()[:60])
    assert shown(environment(tmp_path, SOURCES)) == "Hello &lt;Ada&gt;!"


def test_all_templates_of_the_console_can_be_compiled(tmp_path: Path) -> None:
    made = compile_templates(templates(), tmp_path)
    assert made == len(list(tmp_path.iterdir())) > 80
