"""`brandctl subjects`: keywords that share a subject, and people's joins and splits."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from brandctl.commands import Group, Result
from brandctl.listing import Listing
from brandctl.options import Brand, Limit
from brandctl.terminal import printable
from client.pages import items_of
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "subjects",
    """Lists, joins and splits subjects: keywords that mean the same; a brand has one article for each subject.

Keywords with the same words share a subject. If that is wrong, split one off; if two others mean the same, join
them. Both decisions hold under all later rules.

For example:

    brandctl subjects list acme
    brandctl subjects list acme --keyword "blues guitars"
    brandctl subjects join acme "moka pot" "stovetop espresso"
    brandctl subjects split acme "blues guitars"
""",
    Orchestrator,
)

Keyword = Annotated[str, typer.Argument(metavar="KEYWORD", help="As it is spelled.")]
_SUBJECTS: Final = Listing(
    {
        "keywords": lambda subject: ", ".join(subject["keywords"]),
        "articles": "articles",
        "in hand": lambda subject: "yes" if subject["in_hand"] else "",
        "key": "key",
    },
    nothing="the brand has no article and no work in hand",
)
_DECISIONS: Final = Listing(
    {
        "decided": lambda each: (
            f"{each['kind']} {each['keyword']}" + (f" = {each['other']}" if each["other"] else "")
        ),
        "by": "decided_by",
        "at": lambda each: each["decided_at"][:16],
    },
    nothing="there are no joins and no splits",
)


@app.command("list")
def list_subjects(
    orchestrator: Orchestrator,
    brand: Brand,
    keyword: str | None = None,
    decisions: bool = False,
    after: str | None = None,
    limit: Limit = 50,
) -> Result:
    """Lists the subjects of a brand with their keywords, or the joins and splits.

    Options:
        keyword: Only the subject of this keyword. [default: all]
        decisions: List joins and splits instead.
        after: The last key of the previous page.
    """
    if decisions:
        return _DECISIONS.of({"items": list(items_of(orchestrator.list_subject_decisions, brand))})
    return _SUBJECTS.of(orchestrator.list_subjects(brand, keyword=keyword, after=after, limit=limit))


@app.command()
def join(orchestrator: Orchestrator, brand: Brand, keyword: Keyword, other: str) -> Result:
    """Joins the subjects of two keywords; existing articles stay. Repeating the command changes nothing.

    Options:
        other: A keyword of the other subject.
    """
    answer = orchestrator.create_subject_decision(brand, kind="join", keyword=keyword, other=other)
    return _decided(answer, f"{answer['keyword']} and {answer['other']} are one subject")


@app.command()
def split(orchestrator: Orchestrator, brand: Brand, keyword: Keyword) -> Result:
    """Gives a keyword a subject of its own, or undoes its join. Repeating the command changes nothing."""
    answer = orchestrator.create_subject_decision(brand, kind="split", keyword=keyword)
    return _decided(answer, f"{answer['keyword']} is a subject of its own")


def _decided(answer: "answers.SubjectDecisionResult", told: str) -> Result:
    return Result(answer, note=printable(told) + ("" if answer["changed"] else "; it was so already"))
