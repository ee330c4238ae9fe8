"""The page that explains the library shows code that runs, and figures that were measured."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1]
DOCS = EXAMPLE.parents[1] / "docs"
PAGE = (DOCS / "library.md").read_text()
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SQL = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def statements(source: str) -> list[str]:
    """Each statement as the interpreter reads it, wherever its lines are broken."""
    return [ast.dump(node) for node in ast.parse(source).body]


def suites(source: str) -> Iterator[list[str]]:
    """Every sequence of statements in a file: its own, and that of each class, function and branch."""
    for node in ast.walk(ast.parse(source)):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(suite := getattr(node, field, None), list):
                yield [ast.dump(each) for each in suite]


def is_code_of_the_example(block: str) -> bool:
    wanted = statements(block)
    return any(
        suite[start : start + len(wanted)] == wanted
        for path in EXAMPLE.rglob("*.py")
        for suite in suites(path.read_text())
        for start in range(len(suite))
    )


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.splitlines()[0][:60])
def test_every_block_of_python_is_part_of_the_example(block: str) -> None:
    assert is_code_of_the_example(block)


@pytest.mark.parametrize("block", SQL, ids=lambda block: block.splitlines()[0])
def test_every_block_of_sql_is_part_of_the_example(block: str) -> None:
    assert any(block in path.read_text() for path in EXAMPLE.rglob("*.sql"))


def test_a_block_that_is_not_in_the_example_would_be_noticed() -> None:
    assert len(PYTHON) >= 10
    assert SQL
    assert not is_code_of_the_example(PYTHON[0].replace("cents", "euros"))


def test_figures_of_what_it_costs_are_those_that_were_measured() -> None:
    cost = PAGE.partition("## 7. What it costs")[2].partition("## 8.")[0]
    figures = re.findall(r"\d[\d,.]*", cost)
    measured = set(re.findall(r"\d[\d,.]*", (DOCS / "performance.md").read_text()))
    assert len(figures) >= 6
    assert [figure for figure in figures if figure.rstrip(",.") not in measured] == []
