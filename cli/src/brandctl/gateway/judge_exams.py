"""Exams of judges: their price before, how far they are, and what came of them."""

import shlex
from typing import TYPE_CHECKING, Any

from brandctl.commands import Result, table
from brandctl.confirming import confirm
from brandctl.errors import FAILURES, CommandError, UsageError
from brandctl.gateway.spend import dollars
from brandctl.terminal import note
from brandctl.times import to_second
from client.services.gateway import Gateway
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

WORST: int = 5
"""Kinds of lies that are shown, those that were believed most."""


def examine(
    gateway: Gateway, orchestrator: Orchestrator, name: str | None, *, again: bool, yes: bool
) -> Result:
    """Shows the exam of a judge; begins one, after saying its price, if it had no exam or `again` is given."""
    told = orchestrator.list_judges()
    judge = _chosen(told, name)
    if judge["exam"] is not None and not again:
        return _shown(judge, told)
    settings = _settings(gateway, judge["name"]) if told["at_gateway"] or not yes else None
    if settings is None and told["at_gateway"]:
        raise UsageError(
            f"No model is connected as {judge['name']}, so an exam could only wait. Connect one, and its exam begins:"
            f" brandctl providers connect model{_named(judge['name'])} --url URL --model MODEL"
            " --read-price DOLLARS --written-price DOLLARS < KEYFILE"
        )
    if not yes:
        confirm(f"{price_in_words(judge['name'], told, settings)} Begin it?")
    begun = orchestrator.begin_judge_exam(judge=judge["name"], again=again)
    return Result(begun, remark=_follow(judge["name"]))


def examine_connected(
    orchestrator: Orchestrator, name: str, settings: dict[str, Any], *, is_new: bool, no_exam: bool
) -> list[str]:
    """Begins the exam of a model that was connected, if it judges and is new or was never examined; returns what to say.

    The price is said first.
    """
    try:
        told = orchestrator.list_judges()
    except FAILURES:
        return [f"if articles rest on its word, it has to pass an exam: `brandctl providers exam {name}`"]
    judge = next((each for each in told["items"] if each["name"] in {name, settings.get("model")}), None)
    if judge is None or (judge["exam"] is not None and not is_new):
        return []
    if no_exam:
        until = f"until `brandctl providers exam {judge['name']}` has examined it"
        return [f"articles that rest on its word wait for a person {until}"]
    note(price_in_words(judge["name"], told, settings))
    orchestrator.begin_judge_exam(judge=judge["name"], again=is_new)
    return [_follow(judge["name"])]


def unexamined(orchestrator: Orchestrator) -> list[str]:
    """Returns a remark on each judge that has not passed; none if the orchestrator cannot be asked."""
    try:
        judges = orchestrator.list_judges()["items"]
    except FAILURES:
        return []
    return [f"{each['name']} judges articles: {each['advice']}" for each in judges if not each["has_passed"]]


def price_in_words(name: str, told: "answers.JudgeList", settings: dict[str, Any] | None) -> str:
    """Returns what an exam asks and takes; `settings` are those of its provider at the gateway, if it is there."""
    estimate = told["estimate"]
    if estimate is None:
        return f"An exam of {name} costs its provider's price."
    if settings is None:
        price = f"{estimate['tokens_read']:,} tokens read and {estimate['tokens_written']:,} written"
    else:
        # Dollars for a million tokens are micro-dollars for one.
        micros = sum(
            estimate[tokens] * float(settings[its] or 0)  # type: ignore[literal-required]
            for tokens, its in (("tokens_read", "read_price"), ("tokens_written", "written_price"))
        )
        price = (
            f"{dollars(round(micros / 10_000) * 10_000)} dollars" if micros else "nothing, at a price of 0"
        )
    minutes = max(1, round(estimate["seconds"] / 60))
    return (
        f"An exam of {name} asks about {estimate['sentences']} sentences in {estimate['questions']} questions. It costs up to"
        f" {price}, counted for the brand judge-exams, and takes about {minutes} minutes in the background."
    )


def _chosen(told: "answers.JudgeList", name: str | None) -> "answers.JudgeView":
    judges = told["items"]
    if not judges:
        raise CommandError(
            "No model judges: MODEL_URL of the orchestrator connects one, unless MODEL_JUDGE is false."
        )
    if name is None and len(judges) > 1:
        raise UsageError(
            f"There are several judges: give the name of one, {' or '.join(each['name'] for each in judges)}."
        )
    found = next((each for each in judges if name in {None, each["name"]}), None)
    if found is None:
        there = ", ".join(each["name"] for each in judges)
        raise CommandError(
            f"{name} does not judge articles ({there}): MODEL_JUDGE_NAME of the orchestrator names the judge."
        )
    return found


def _named(name: str) -> str:
    return "" if name == "model" else f" --name {shlex.quote(name)}"


def _settings(gateway: Gateway, name: str) -> dict[str, Any] | None:
    for each in gateway.list_providers()["items"]:
        settings: dict[str, Any] = {**each["settings"]}
        if name in {each["name"], settings.get("model")} and "read_price" in settings:
            return settings
    return None


def _follow(name: str) -> str:
    return f"the exam of {name} is under way; `brandctl providers exam {name}` shows how far it is"


def _shown(judge: "answers.JudgeView", told: "answers.JudgeList") -> Result:
    exam = judge["exam"]
    assert exam is not None
    result = exam["result"]
    cells = ["", "", "", ""]
    if result is not None:
        kept = [f"{result[part]['kept']} of {result[part]['total']}" for part in ("true", "lies")]
        cells = [*kept, f"{result['precision']:.1%}", f"{result['recall']:.1%}"]
    headings = (
        "judge",
        "model",
        "exam",
        "answered",
        "true kept",
        "lies kept",
        "precision",
        "recall",
        "spent",
        "since",
    )
    row = (
        judge["name"],
        exam["model"] or "",
        exam["state"],
        f"{exam['answered']} of {exam['questions']}",
        *cells,
        "" if exam["spent"] is None else dollars(exam["spent"]),
        to_second(exam["ended_at"] or exam["begun_at"]),
    )
    return Result(judge, table(headings, [row]), note=list(_remarks(judge, exam, told)))


def _remarks(judge: "answers.JudgeView", exam: "answers.ExamView", told: "answers.JudgeList") -> list[str]:
    remarks = []
    if exam["waits_for"]:
        remarks.append(f"it waits for {exam['waits_for']}; it goes on by itself")
    if exam["problem"]:
        remarks.append(f"it ended without a result: {exam['problem']}")
    if result := exam["result"]:
        believed = sorted(
            ((each["kept"], kind, each["total"]) for kind, each in result["kinds"].items() if each["kept"]),
            key=lambda each: (-each[0], each[1]),
        )
        if believed:
            worst = ", ".join(f"{kind} ({kept} of {total})" for kept, kind, total in believed[:WORST])
            remarks.append(f"lies that it believed: {worst}")
    if bar := told["bar"]:
        remarks.append(
            f"to pass, a judge keeps at most {bar['most_lies_kept']:.0%} of the lies and at least"
            f" {bar['least_true_kept']:.0%} of the true sentences"
        )
    remarks.append(judge["advice"])
    return remarks
