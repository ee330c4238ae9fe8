"""`brandctl subjects`: keywords that share a subject, and people's joins and splits."""

from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.listing import Limit, Listing
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl, Subject
from brandctl.terminal import note, print_json, printable

app = typer.Typer(
    name="subjects",
    no_args_is_help=True,
    help=f"""Lists, joins and splits subjects: keywords that mean the same; a brand has one article for each subject.

Keywords with the same words share a subject. If that is wrong, split one off; if two others mean the same, join
them. Both decisions hold under all later rules.

{OrchestratorClient.help()}

For example:

    brandctl subjects list acme
    brandctl subjects list acme --keyword "blues guitars"
    brandctl subjects join acme "moka pot" "stovetop espresso"
    brandctl subjects split acme "blues guitars"
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")]
Keyword = Annotated[str, typer.Argument(metavar="KEYWORD", help="As it is spelled.")]
_SUBJECTS: Final = Listing[Subject](
    {
        "keywords": lambda subject: ", ".join(subject.keywords),
        "articles": lambda subject: str(subject.articles),
        "in hand": lambda subject: "yes" if subject.in_hand else "",
        "key": lambda subject: subject.key,
    },
    nothing="the brand has no article and no work in hand",
)
_DECISIONS: Final = Listing[dict[str, Any]](
    {
        "decided": lambda each: (
            f"{each['kind']} {each['keyword']}" + (f" = {each['other']}" if each["other"] else "")
        ),
        "by": lambda each: each["decided_by"],
        "at": lambda each: each["decided_at"][:16],
    },
    nothing="there are no joins and no splits",
)


@app.command(name="list")
def list_subjects(
    brand: Brand,
    keyword: Annotated[
        str | None, typer.Option(help="Only the subject of this keyword.", show_default="all")
    ] = None,
    decisions: Annotated[bool, typer.Option("--decisions", help="List joins and splits instead.")] = False,
    after: Annotated[str | None, typer.Option(help="The last key of the previous page.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the subjects of a brand with their keywords, or the joins and splits."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        if decisions:
            decided = list(orchestrator.subject_decisions(brand))
            _DECISIONS.show(decided, {"items": decided}, as_json=as_json)
            return
        found, answer = orchestrator.subjects(brand, keyword=keyword, after=after, limit=limit)
    _SUBJECTS.show(found, answer, as_json=as_json, more=answer.get("next"))


@app.command()
def join(
    brand: Brand,
    keyword: Keyword,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="A keyword of the other subject.")],
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Joins the subjects of two keywords; existing articles stay. Repeating the command changes nothing."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        answer = orchestrator.decide_subject(brand, {"kind": "join", "keyword": keyword, "other": other})
    _show(answer, f"{answer.get('keyword')} and {answer.get('other')} are one subject", as_json=as_json)


@app.command()
def split(
    brand: Brand,
    keyword: Keyword,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Gives a keyword a subject of its own, or undoes its join. Repeating the command changes nothing."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        answer = orchestrator.decide_subject(brand, {"kind": "split", "keyword": keyword})
    _show(answer, f"{answer.get('keyword')} is a subject of its own", as_json=as_json)


def _show(answer: dict[str, Any], told: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        note(printable(told) + ("" if answer.get("changed") else "; it was so already"))
