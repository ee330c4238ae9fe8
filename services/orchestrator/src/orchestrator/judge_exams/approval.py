"""Decides which articles wait for a person because no judge that passed its exam stands for their claims."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from chassis import Connection
from orchestrator.judge_exams.domain import JudgeStanding
from writing.article import ArticleJudge, ModelDraftCounts

PassedJudges: TypeAlias = frozenset[tuple[str, str]]
"""Judges that have passed, as (its name in requests, its model)."""


def judge_reasons(draft: ModelDraftCounts | None, passed: PassedJudges) -> tuple[str, ...]:
    """Returns why an article waits for a person, even if its brand asks for no approval; empty if it need not.

    Sentences that hold by their words rest on no judge. Of several judges one that passed is enough, since each has read all that
    the others confirmed.
    """
    if draft is None or not draft.confirmed or any(_has_passed(each, passed) for each in draft.judges):
        return ()
    names = " and ".join(f"{each.name} ({', '.join(each.models)})" for each in draft.judges) or "unknown"
    examine = " or ".join(f"`brandctl providers exam {each.name}`" for each in draft.judges)
    why = f"{draft.confirmed} of its sentences stand on the word of a judge that has not passed an exam, {names}: read it"
    return (
        f"{why}; {examine} examines the judge, and lets later articles use words of their own"
        if examine
        else why,
    )


def _has_passed(judge: ArticleJudge, passed: PassedJudges) -> bool:
    return bool(judge.models) and all((judge.name, model) in passed for model in judge.models)


async def load_passed_judges(
    connection: Connection, drafts: Iterable[ModelDraftCounts | None]
) -> PassedJudges:
    """Returns the judges of these drafts that passed their last exam with the same model.

    Notes with each judge what its answers call its model now.
    """
    judges = {each for draft in drafts if draft is not None and draft.confirmed for each in draft.judges}
    if not judges:
        return frozenset()
    for judge in sorted(judges, key=lambda each: each.name):
        await _note_model(connection, judge)
    return await passed_among(connection, [(each.name, model) for each in judges for model in each.models])


async def passed_among(connection: Connection, judges: Sequence[tuple[str, str]]) -> PassedJudges:
    rows = await connection.fetch(
        """
        select judge, model from (
            select distinct on (judge, model) judge, model, state from judge_exams
            where result is not null and (judge, model) in (select * from unnest($1::text[], $2::text[]))
            order by judge, model, ended_at desc
        ) as last where state = 'passed'
        """,
        [name for name, _ in judges],
        [model for _, model in judges],
    )
    return frozenset((row["judge"], row["model"]) for row in rows)


async def find_standings(connection: Connection, judges: Sequence[str]) -> dict[str, JudgeStanding]:
    """Returns what the graded exams of the judges say, by name."""
    rows = await connection.fetch(
        """
        select distinct on (judge) judge, model, coalesce(answers_as, model) as now_model from judge_exams
        where judge = any ($1::text[]) and result is not null order by judge, ended_at desc
        """,
        list(judges),
    )
    passed = await passed_among(connection, [(row["judge"], row["now_model"]) for row in rows])
    return {
        row["judge"]: JudgeStanding(
            row["model"], row["now_model"], (row["judge"], row["now_model"]) in passed
        )
        for row in rows
    }


async def _note_model(connection: Connection, judge: ArticleJudge) -> None:
    await connection.execute(
        """
        update judge_exams as e set answers_as = nullif($2, model)
        where exam_id = (select exam_id from judge_exams where judge = $1 and result is not null order by ended_at desc limit 1)
          and answers_as is distinct from nullif($2, model)
        """,
        judge.name,
        judge.models[-1],
    )
