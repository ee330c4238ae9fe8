"""A newcomer goes by the README's tree: each of its folders is there, and every folder with code is in it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def tree() -> str:
    found = re.search(r"^## Where to find what\n+```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert found, "the README has a section of that name, which begins with the tree"
    return found[1]


def folders() -> set[str]:
    return {f"{path}/" for path in re.findall(r"(?<![\w/])([a-z]+(?:/[a-z]+)?)/(?=\s)", tree())}


def test_what_it_names_is_there() -> None:
    assert {folder for folder in folders() if not (ROOT / folder).is_dir()} == set()


def test_it_names_every_folder_of_code() -> None:
    members = {f"{path.parent.relative_to(ROOT)}/" for path in ROOT.glob("*/*/pyproject.toml")}
    tops = {f"{path.parent.relative_to(ROOT)}/" for path in ROOT.glob("*/pyproject.toml")}
    named = folders()
    assert {
        folder for folder in members | tops if not any(folder.startswith(each) for each in named)
    } == set()


def test_it_names_the_rooms_of_the_libraries() -> None:
    for library in ("chassis", "messaging"):
        home = ROOT / "shared" / library / "src" / library
        rooms = {path.parent.name for path in home.glob("*/__init__.py")} - {"testing"}
        line = next(line for line in tree().splitlines() if line.startswith(f"shared/{library}/"))
        assert rooms <= set(re.findall(r"\w+", line))


def test_it_is_short() -> None:
    assert len(tree().splitlines()) <= 15
