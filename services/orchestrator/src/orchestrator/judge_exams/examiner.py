"""Examines judges in the background: a question at a time, by one replica at a time; a stored answer is not asked for again."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Final, TypeVar
from uuid import UUID

import structlog
from pydantic import TypeAdapter

from messaging import Database, RetryLater, Unprocessable, WaitFor
from orchestrator.brands import EXAM_PAYER
from orchestrator.judge_exams import store
from orchestrator.judge_exams.domain import ExamPlan, ExamState
from orchestrator.judge_exams.store import ExamRow
from writing.model.chat import ChatModel
from writing.model.exam.bank import read_bank
from writing.model.exam.grading import LEAST_TRUE_KEPT, MOST_LIES_KEPT, grade
from writing.model.exam.questions import exam_questions, exam_size
from writing.model.exam.selection import choose_sentences
from writing.model.judge.question import Reading, SecondReading
from writing.model.session import ModelSession
from writing.writer import UnusableModelAnswerError

ResultT = TypeVar("ResultT")

MOST_UNUSABLE: Final = 3
"""After so many questions without a usable answer a judge cannot reach the bar, and no more is paid for it."""
MOST_ATTEMPTS: Final = 5
_PAUSE: Final = timedelta(seconds=30)
"""After a failed attempt; it doubles with each."""
_LONGEST_PAUSE: Final = timedelta(minutes=10)
_MAX_PROBLEM: Final = 1000
_REPLAY: Final = re.compile(r"[;,] then replay$")
"""The end of what an article's problem advises."""

log = structlog.get_logger(__name__)


class ExamAnswers:
    """The stored answers of an exam; `writing.context.PaidSteps`."""

    brand_slug = EXAM_PAYER

    def __init__(self, database: Database, exam_id: UUID, stored: dict[str, str]) -> None:
        self._database = database
        self._exam_id = exam_id
        self._stored = stored
        self.is_new = False
        """True once an answer was asked for."""

    async def step(
        self, name: str, result_type: TypeAdapter[ResultT], work: Callable[[str], Awaitable[ResultT]]
    ) -> ResultT:
        if name not in self._stored:
            self.is_new = True
            answer = result_type.dump_json(await work(f"exam:{self._exam_id}:{name}")).decode()
            async with self._database.transaction() as tx:
                self._stored[name] = await store.store_answer(tx.connection, self._exam_id, name, answer)
        return result_type.validate_json(self._stored[name])


class JudgeExaminer:
    """Asks the questions of exams that are under way; create one per process.

    Args:
        judges: the judging models by their names in requests.
        max_tokens: of an answer.
        lease: longer than two answers take, as a bad answer is requested again. After it another replica continues.
    """

    def __init__(
        self, database: Database, judges: Mapping[str, ChatModel], *, max_tokens: int, lease: timedelta
    ) -> None:
        self._database = database
        self._judges = judges
        self._max_tokens = max_tokens
        self._lease = lease
        self._questions = exam_questions(choose_sentences(read_bank()), max_tokens)
        self.plan = ExamPlan(
            **asdict(exam_size(self._questions)),
            most_lies_kept=MOST_LIES_KEPT,
            least_true_kept=LEAST_TRUE_KEPT,
        )

    async def ask_next(self) -> timedelta | None:
        """Asks one question of the exam that is next. Returns when to go on; None if nothing is due."""
        async with self._database.transaction() as tx:
            exam = await store.claim_exam(tx.connection, list(self._judges), self.plan.version, self._lease)
        if exam is None:
            return None
        if exam.version != self.plan.version:
            await self._fail(exam, "an upgrade has changed the questions meanwhile; begin it again")
            return timedelta()
        try:
            is_over = await self._ask(exam)
        except WaitFor as wait:
            await self._release(exam, wait.after or _PAUSE, waits_for=f"{wait.dependency}: {wait}")
        except RetryLater as error:
            await self._retry(exam, str(error), error.after)
        except Unprocessable as error:
            await self._fail(exam, _REPLAY.sub("", str(error)))
        else:
            if not is_over:
                await self._release(exam, timedelta())
        return timedelta()

    async def _ask(self, exam: ExamRow) -> bool:
        """Asks the first question that has no answer, or grades if all have one; returns whether the exam is over."""
        async with self._database.connection() as connection:
            answers = ExamAnswers(
                self._database, exam.exam_id, await store.load_answers(connection, exam.exam_id)
            )
        session = ModelSession(self._judges[exam.judge], answers, self._max_tokens)
        readings: list[tuple[Reading, ...]] = []
        unusable = []
        for question in self._questions:
            try:
                answer = await session.ask(
                    f"question {question.number}",
                    SecondReading,
                    question.messages,
                    passages=question.passages,
                )
                readings.append(answer.readings)
            except UnusableModelAnswerError as error:
                readings.append(())
                unusable.append(str(error))
            if len(session.models) > 1:
                mixed = f"its answers come from several models, {' and '.join(sorted(session.models))}; begin it again once one is there"
                return await self._fail(exam, mixed)
            if len(unusable) >= MOST_UNUSABLE:
                return await self._fail(
                    exam, f"{len(unusable)} of its answers cannot be used; the last one: {unusable[-1]}"
                )
            if answers.is_new:
                return False
        result = grade(self._questions, readings)
        (model,) = session.models
        state = ExamState.PASSED if result.passed else ExamState.FAILED
        async with self._database.transaction() as tx:
            await store.end_exam(tx.connection, exam, state, model=model, result=result.model_dump_json())
        log.info("judge_examined", judge=exam.judge, model=model, state=state.value)
        return True

    async def _retry(self, exam: ExamRow, problem: str, after: timedelta | None) -> None:
        attempts = exam.attempts + 1
        if attempts >= MOST_ATTEMPTS:
            await self._fail(exam, f"a question was asked {attempts} times in vain: {problem}")
            return
        pause = after or _PAUSE * 2**exam.attempts
        await self._release(exam, min(pause, _LONGEST_PAUSE), attempts=attempts, waits_for=problem)

    async def _release(
        self, exam: ExamRow, after: timedelta, *, attempts: int = 0, waits_for: str | None = None
    ) -> None:
        async with self._database.transaction() as tx:
            await store.release_exam(
                tx.connection,
                exam,
                after=after,
                attempts=attempts,
                waits_for=waits_for and waits_for[:_MAX_PROBLEM],
            )

    async def _fail(self, exam: ExamRow, problem: str) -> bool:
        async with self._database.transaction() as tx:
            await store.end_exam(tx.connection, exam, ExamState.FAILED, problem=problem[:_MAX_PROBLEM])
        log.warning("judge_exam_failed", judge=exam.judge, problem=problem)
        return True
