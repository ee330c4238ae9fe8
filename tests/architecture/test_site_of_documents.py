"""What `make docs` makes a site of, and what it finds wrong with one."""

import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_documents", ROOT / "deploy/local/documents/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_lead_to_pages_and_other_files_are_named_alone(build: ModuleType) -> None:
    known = frozenset({"docs/faq.md", "README.md", "services/social/README.md"})
    told = "[a](faq.md#b) [c](../services/social) [`d`](../shared/x.py) [e](https://e.example/x.py) [f](#g) ![h](no.webp)"
    assert build.with_links(told, "docs/using.md", known) == (
        "[a](faq.md#b) [c](../services/social/README.md) `d` [e](https://e.example/x.py) [f](#g) ![h](no.webp)"
    )


def test_the_menu_has_every_document_of_the_list(build: ModuleType) -> None:
    text = build._CONFIGURATION.format(nav=build.navigation((ROOT / "docs/README.md").read_text()))
    sections = tomllib.loads(text)["project"]["nav"]
    listed = [
        page
        for section in sections
        for pages in section.values()
        if isinstance(pages, list)
        for page in pages
    ]
    places = {place for page in listed for place in page.values()}
    assert {"docs/console.md", "docs/operations/backup.md", "docs/library.md", "SECURITY.md"} <= places
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_broken_links_and_what_is_loaded_from_elsewhere_are_found(build: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/style.css").write_text("")
    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="a/b.html#c">x</a><a href="https://e.example">x</a>'
    )
    (tmp_path / "a/b.html").write_text(
        '<h2 id="c">x</h2><link rel="stylesheet" href="style.css"><a href="../index.html#top">x</a>'
    )
    assert list(build.wrong(tmp_path)) == []
    (tmp_path / "a/b.html").write_text(
        '<a href="../index.html#bottom">x</a><a href="gone.html">x</a><script src="https://e.example/x.js"></script>'
    )
    assert list(build.wrong(tmp_path)) == [
        "a/b.html: ../index.html#bottom leads nowhere",
        "a/b.html: gone.html leads nowhere",
        "a/b.html: loads https://e.example/x.js",
        "index.html: a/b.html#c leads nowhere",
    ]


@pytest.mark.real
@pytest.mark.skipif(
    not (ROOT / ".venv-documents").exists(), reason="`make docs` installs what makes the site"
)
def test_the_site_can_be_made(build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(ROOT / ".venv-documents/bin/python"))
    monkeypatch.setattr(build, "BUILD", ROOT / "build" / tmp_path.name)
    assert build.main() == 0
