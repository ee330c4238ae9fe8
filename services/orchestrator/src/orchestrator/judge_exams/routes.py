"""HTTP API of judges and their exams."""

from collections.abc import Sequence
from http import HTTPStatus

from fastapi import APIRouter, Response

from chassis.http.api import UNKNOWN, MayOperate, MayRead, router
from chassis.http.callers import Caller
from chassis.http.problem_codes import KEY_BOUND_TO_BRANDS, RefusalError
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.judge_exams import store
from orchestrator.judge_exams.approval import find_standings
from orchestrator.judge_exams.domain import ExamPlan, JudgeStanding, advise
from orchestrator.judge_exams.models import ExamRequest, ExamView, JudgeList, JudgeView
from orchestrator.judge_exams.store import ExamProgress, ExamRow


def judge_routes(database: Database, judges: Sequence[str], plan: ExamPlan | None) -> APIRouter:
    """`plan` is None if no model judges."""
    routes = router("/judges", tags=["judges"])

    @routes.get("", summary="List the models that judge")
    async def list_judges(caller: MayRead) -> JudgeList:
        """Lists the judges with their latest exams, and what an exam would take."""
        _of_no_brand(caller)
        async with database.connection() as connection:
            found = await store.find_latest(connection, judges)
            standings = await find_standings(connection, judges)
        views = [_view(name, found.get(name), standings.get(name)) for name in judges]
        return JudgeList.of(tuple(views), plan)

    @routes.post(
        "/exams",
        summary="Examine a judge",
        status_code=HTTPStatus.CREATED,
        responses={
            200: {"model": ExamView, "description": "An exam of it runs; this is it."},
            201: {"description": "The exam begins."},
            **UNKNOWN,
        },
    )
    async def begin_judge_exam(caller: MayOperate, request: ExamRequest, response: Response) -> ExamView:
        """Begins an exam, which costs as much as `GET /v1/judges` estimates; it continues in the background.

        Exams count for the brand `judge-exams` at the gateway.
        """
        _of_no_brand(caller)
        if plan is None or request.judge not in judges:
            there = ", ".join(judges) or "none; MODEL_URL connects a model"
            raise RefusalError(codes.UNKNOWN_JUDGE, f"{request.judge} does not judge here (there is {there})")
        async with database.transaction() as tx:
            exam, is_new = await store.begin_exam(
                tx.connection, request.judge, plan, by=caller.name, again=request.again
            )
            _, progress = (await store.find_latest(tx.connection, [request.judge]))[request.judge]
        if not is_new:
            response.status_code = HTTPStatus.OK
        return ExamView.of(exam, progress)

    return routes


def _of_no_brand(caller: Caller) -> None:
    if caller.brands is not None:
        raise RefusalError(KEY_BOUND_TO_BRANDS, "judges are no brand's: take a key that is bound to none")


def _view(name: str, found: tuple[ExamRow, ExamProgress] | None, standing: JudgeStanding | None) -> JudgeView:
    exam = ExamView.of(*found) if found else None
    return JudgeView(
        name=name,
        has_passed=standing is not None and standing.has_passed,
        advice=advise(name, exam.state if exam else None, standing),
        exam=exam,
    )
