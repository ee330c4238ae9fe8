"""Size, bar and states of a judge's exam. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class ExamState(StrEnum):
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    """It did not reach the bar, or ended without a result."""


@dataclass(frozen=True, slots=True)
class ExamPlan:
    """Size and limits of a judge's exam, and the bar for passing."""

    version: str
    """Of the questions."""
    questions: int
    sentences: int
    tokens_read: int
    tokens_written: int
    seconds: int
    """That it takes if the model writes as fast as hosted ones do."""
    most_lies_kept: float
    """The most lies, as a share, that a judge that passes finds supported."""
    least_true_kept: float
    """The least true sentences, as a share, that it finds supported."""


@dataclass(frozen=True, slots=True)
class JudgeStanding:
    """The standing of a judge's present model by its graded exams."""

    examined: str
    """The model of its last graded exam."""
    model: str
    """The model that its answers named last."""
    has_passed: bool
    """Whether the last exam of that model was passed."""


def advise(name: str, exam: ExamState | None, standing: JudgeStanding | None) -> str:
    """Returns what follows for articles, and what to do; `exam` is the state of the judge's latest one."""
    if standing is not None and standing.has_passed:
        return "articles may be published on its word"
    waiting = "articles that rest on its word wait for a person"
    if exam is ExamState.RUNNING:
        return f"{waiting} until it has passed the exam that is under way"
    if standing is not None and standing.model != standing.examined:
        changed = f"it answers as {standing.model} now, and was examined as {standing.examined}"
        return f"{changed}: {waiting} until `brandctl providers exam {name} --again` has examined it"
    if exam is ExamState.FAILED:
        return f"it has not passed its exam: {waiting}; connect a better model, or name another judge (MODEL_JUDGE_NAME)"
    return f"it was never examined: {waiting} until `brandctl providers exam {name}` has examined it"
