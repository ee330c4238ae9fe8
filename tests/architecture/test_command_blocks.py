"""Each block of commands in the documents says whether a test runs it, and the test that it names does."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.fixtures.command_blocks import ROOT, Block, blocks_of, documents


def command_blocks() -> list[Block]:
    return [block for page in documents() for block in blocks_of(page) if block.has_commands]


def pages_of_test(path: Path) -> set[str]:
    """The pages whose blocks a test runs: the constant `PAGES` of one that reads their marks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & {"blocks_run_by", "is_run_by"}, f"{path} reads no marks"
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign):
            [target] = node.targets
        if isinstance(target, ast.Name) and target.id == "PAGES":
            assert isinstance(node, (ast.Assign, ast.AnnAssign))
            assert node.value is not None
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{path} has no PAGES")


def test_each_block_of_commands_is_run_by_a_test_or_an_illustration() -> None:
    blocks = command_blocks()
    assert len(blocks) > 120
    assert [f"{each.page}:{each.line}" for each in blocks if not each.mark] == []


def test_a_test_that_a_block_names_runs_it_and_a_test_that_runs_blocks_is_named() -> None:
    named: defaultdict[str, set[str]] = defaultdict(set)
    for block in command_blocks():
        if block.mark.startswith("Run by "):
            named[block.mark.removeprefix("Run by ")].add(block.page)
    having = {
        str(path.relative_to(ROOT))
        for folder in ("services", "shared", "cli", "tests", "examples", "benchmarks")
        for path in (ROOT / folder).rglob("test_*.py")
        if path != Path(__file__)
        and re.search(
            r"command_blocks import .*\b(?:blocks_run_by|is_run_by)\b", path.read_text(encoding="utf-8")
        )
    }
    assert having == set(named)
    assert {test: pages_of_test(ROOT / test) for test in named} == named


def test_a_mark_stands_before_a_block_of_commands() -> None:
    stray = []
    for page in documents():
        marks = re.findall(
            r"^ *<!-- (?:Run by .*|An illustration)\. -->$",
            (ROOT / page).read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        if len(marks) != sum(bool(each.mark) and each.has_commands for each in blocks_of(page)):
            stray.append(page)
    assert stray == []


def test_commands_are_in_blocks_that_say_so() -> None:
    """Without a language, a block is output, a drawing or a file."""
    assert [f"{each.page}:{each.line}" for each in command_blocks() if not each.language] == []
