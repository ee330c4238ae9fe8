"""Tables and help on a terminal of 80 columns, and ids that are short enough to type."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import typer
from rich.cells import cell_len
from rich.console import Console

from brandctl import plain_help, tables
from brandctl.app import assemble
from brandctl.reference import reference
from brandctl.short_ids import parse_id, parse_reference, shorten

ID = "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"
LIKE_IT = "0197a3c4-5b6e-7c80-9d2f-3a4b5ffd7e8f"
WHY = "the opening says too little about the keyword that the article was written for, and it has no numbers"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """The output in a terminal of 80 columns."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, color_system=None, highlight=False)
    monkeypatch.setattr(tables, "out", lambda: console)
    return file


def test_columns_that_do_not_fit_stand_below_their_row_and_no_word_is_broken(shown: io.StringIO) -> None:
    headings = ("id", "brand", "state", "words", "title", "why")
    title = "Why pour-over coffee tastes better than anything else"
    tables.show_table(
        headings,
        [(ID, "daily-grind", "waiting", "812", title, WHY), (LIKE_IT, "acme", "scheduled", "9", "Tea", "")],
    )

    lines = shown.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert lines[0].split() == ["id", "brand", "state", "words"]
    assert lines[2].split() == ["…6d7e8f", "daily-grind", "waiting", "812"]
    assert lines[3] == f"    title: {title}"
    assert " ".join(" ".join(lines[4:6]).split()) == f"why: {WHY}"
    assert lines[6].split() == ["…fd7e8f", "acme", "scheduled", "9"]
    assert lines[7:] == ["    title: Tea"]


def test_a_last_column_of_prose_goes_on_below_itself(shown: io.StringIO) -> None:
    address = f"https://example.com/{'a' * 90}"
    tables.show_table(("setting", "value"), [("tone", WHY), ("address", address)])

    lines = shown.getvalue().splitlines()
    assert " ".join(line[9:] for line in lines[2:4]) == WHY
    assert lines[2][:9].strip() == "tone"
    assert lines[3][:9].strip() == ""
    assert lines[4] == f"address  {address}"


def test_what_fits_is_a_table(shown: io.StringIO) -> None:
    tables.show_table(("next", "of"), [("2027-03-01 09:00", "3 keywords, weekly")])
    assert shown.getvalue().splitlines() == [
        "next              of",
        "─" * 36,
        "2027-03-01 09:00  3 keywords, weekly",
    ]


def test_elsewhere_than_on_a_terminal_rows_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show_table(("id", "why"), [(ID, WHY)])
    assert capsys.readouterr().out == f"id\twhy\n{ID}\t{WHY}\n"


def test_what_a_list_shows_short_is_understood(shown: io.StringIO) -> None:
    short = shorten([ID, LIKE_IT])
    assert short == {ID: "…6d7e8f", LIKE_IT: "…fd7e8f"}
    assert {parse_id(short[ID]), parse_id("6D7E8F"), parse_id(ID)} == {UUID(ID)}
    assert parse_reference("…fd7e8f") == LIKE_IT
    assert parse_reference("ed7e8f") == "ed7e8f"  # may be a name
    # Later ids do not push it out, and one that ends alike makes both longer.
    shorten(str(uuid4()) for _ in range(100))
    assert parse_id("6d7e8f") == UUID(ID)
    third = "0297a3c4-5b6e-7c80-9d2f-3a4b576d7e8f"
    assert shorten([third]) == {third: "…76d7e8f"}


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("7e8f", "several ids that lists have shown end with '7e8f'"),
        ("abcdef", "no id that a list has shown here ends with 'abcdef'"),
        ("e8f", "'e8f' is no id"),
        ("cold brew", "'cold brew' is no id"),
    ],
)
def test_an_ending_that_names_no_id_is_refused(typed: str, says: str) -> None:
    shorten([ID, LIKE_IT])
    with pytest.raises(typer.BadParameter, match=says):
        parse_id(typed)


def test_ids_are_whole_where_none_can_be_remembered(state: Path) -> None:
    (state / "brandctl").write_text("a file where the folder belongs")
    assert shorten([ID]) == {ID: ID}


def commands(command: Any, parent: Any = None, name: str = "brandctl") -> Iterator[Any]:
    """A context of each command."""
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=80)
    yield context
    for sub, each in getattr(command, "commands", {}).items():
        yield from commands(each, context, sub)


def test_help_fits_80_columns_and_cuts_no_name() -> None:
    whole = typer.main.get_command(assemble())
    plain_help.apply(whole)
    for context in commands(whole):
        text = context.get_help()
        for parameter in context.command.params:
            for spelling in (*parameter.opts, *parameter.secondary_opts):
                if spelling.startswith("--") and not getattr(parameter, "hidden", False):
                    assert re.search(rf"^  .*{spelling}\b", text, re.MULTILINE), context.command_path
        for name in getattr(context.command, "commands", {}):
            assert re.search(rf"^  {name}\b", text, re.MULTILINE)
        # Examples, and choices that are one word to a shell, are as long as they are.
        long = [line for line in text.splitlines() if len(line) > 80]
        assert not [line for line in long if not re.match(r" {6}\S|  (?:--[a-z-]+|[A-Z]+) <\S+>$", line)], (
            context
        )


def test_the_reference_has_every_command_as_it_is() -> None:
    page = Path(__file__).parents[2] / "docs/reference/brandctl.md"
    assert page.read_text(encoding="utf-8") == reference(), "run: make schemas"
