"""The committed verdicts can be counted, and a malformed file is recognized."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.articles.blind_verdicts import problems_in, signable_share

_FILES = sorted((Path(__file__).parent / "verdicts").glob("*.json"))


def _round(n: int = 8, **changes: Any) -> dict[str, Any]:
    rows = [
        {
            "documentation": "pots",
            "keyword": f"kiln {i}",
            "signable": i % 2 == 0,
            "reason": "“it” has no noun",
        }
        for i in range(n)
    ]
    return {"round": "1", "date": "2026-01-01", "reader": "an editor", "verdicts": rows} | changes


def test_committed_verdicts_can_be_counted() -> None:
    assert {file.name: problems_in(json.loads(file.read_text())) for file in _FILES} == {
        file.name: [] for file in _FILES
    }


def test_signatures_are_counted_by_documentation() -> None:
    assert problems_in(_round()) == []
    assert signable_share(_round()) == {"pots": (4, 8)}


@pytest.mark.parametrize(
    ("verdicts", "problem"),
    [
        ([], "it lacks one of round, date, reader and verdicts"),
        (_round(reader=""), "reader is empty"),
        (_round(7), "pots has 7 verdicts, and needs 8"),
        (
            _round(verdicts=[*_round()["verdicts"], _round()["verdicts"][0]]),
            "'kiln 0' of pots is judged 2 times",
        ),
        (_round(verdicts=[*_round()["verdicts"], {"keyword": "x", "signable": None}]), "no verdict: "),
        (
            _round(
                verdicts=[
                    *_round()["verdicts"],
                    {"documentation": "pots", "keyword": "x", "signable": False, "reason": ""},
                ]
            ),
            "'x' of pots is refused without a reason",
        ),
    ],
)
def test_what_cannot_be_counted_is_named(verdicts: Any, problem: str) -> None:
    assert [each.startswith(problem) for each in problems_in(verdicts)] == [True]
