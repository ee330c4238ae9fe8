"""Verdicts of readers on articles: their form, and what is wrong with a file of them."""

from collections import Counter
from typing import Any, Final

MIN_VERDICTS: Final = 8
"""Articles of a documentation that a round judges, at least."""


def problems_in(verdicts: Any) -> list[str]:
    """Returns what is wrong with the contents of `verdicts/ROUND.json`; nothing if it can be counted."""
    match verdicts:
        case {"round": str(name), "date": str(date), "reader": str(reader), "verdicts": [*rows]}:
            problems = [
                f"{field} is empty"
                for field, text in (("round", name), ("date", date), ("reader", reader))
                if not text
            ]
        case _:
            return ["it lacks one of round, date, reader and verdicts"]
    rows = [row for row in rows if _add_problem(row, problems)]
    judged = Counter((row["documentation"], row["keyword"]) for row in rows)
    problems += [
        f"{keyword!r} of {name} is judged {n} times" for (name, keyword), n in judged.items() if n > 1
    ]
    per_documentation = Counter(row["documentation"] for row in rows)
    return problems + [
        f"{name} has {n} verdicts, and needs {MIN_VERDICTS}"
        for name, n in per_documentation.items()
        if n < MIN_VERDICTS
    ]


def signable_share(verdicts: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Returns for each documentation how many articles a reader would sign, of how many."""
    rows = verdicts["verdicts"]
    names = sorted({row["documentation"] for row in rows})
    return {
        name: (
            sum(row["signable"] for row in rows if row["documentation"] == name),
            sum(row["documentation"] == name for row in rows),
        )
        for name in names
    }


def _add_problem(row: Any, problems: list[str]) -> bool:
    """Whether a row can be counted; adds what is wrong with it."""
    match row:
        case {
            "documentation": str(name),
            "keyword": str(keyword),
            "signable": bool(signable),
            "reason": str(reason),
        }:
            if not (name and keyword):
                problems.append(f"a verdict names no article: {row}")
            elif not signable and not reason:
                problems.append(f"{keyword!r} of {name} is refused without a reason")
            return True
        case _:
            problems.append(f"no verdict: {row}")
            return False
