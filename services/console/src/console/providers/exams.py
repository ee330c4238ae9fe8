"""`/providers/exams`: the models that judge articles, their exams, and what an exam costs before it begins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.money.views import dollars
from console.pages import FormData, PageViewer, Viewer, once_or_refused, page, redirect
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

WORST: Final = 5
"""Kinds of lies that are shown, those that were believed most."""
_CENT: Final = 10_000
_TONES: Final = {"passed": "good", "failed": "bad", "running": "warn"}
router = APIRouter(include_in_schema=False)


async def read_judges(
    clients: PersonClients,
    fields: Mapping[str, str],  # noqa: ARG001  (every reading gets them)
    query: Mapping[str, str],  # noqa: ARG001
) -> Any:
    """How far exams are."""
    return await read_each(clients.orchestrator.list_judges())


LIVE: Final = (LivePage("/providers/exams", read_judges),)


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """A model that judges, with its latest exam."""

    name: str
    has_passed: bool
    exam: Mapping[str, Any] | None
    tone: str
    percent: int
    """Of the questions that are answered."""
    believed: tuple[tuple[str, int, int], ...]
    """Kinds of lies that it believed most: kind, how many, of how many."""
    cost: int | None
    """Micro-dollars that an exam takes at most; None if its price is not known."""
    is_connected: bool
    """False: an exam could only wait."""

    @property
    def state(self) -> str:
        return self.exam["state"] if self.exam else "none"


def judge_lines(told: Mapping[str, Any], providers: Iterable[Mapping[str, Any]] | None) -> list[JudgeLine]:
    """The judges, as the orchestrator and the gateway tell of them; `providers` is None while the gateway is away."""
    return [_line(each, told, providers) for each in told["items"]]


def _line(
    judge: Mapping[str, Any], told: Mapping[str, Any], providers: Iterable[Mapping[str, Any]] | None
) -> JudgeLine:
    exam = judge["exam"]
    result = exam["result"] if exam else None
    kinds = [(kind, each["kept"], each["total"]) for kind, each in result["kinds"].items()] if result else []
    settings = _settings(judge["name"], providers or ())
    return JudgeLine(
        name=judge["name"],
        has_passed=judge["has_passed"],
        exam=exam,
        tone=_TONES.get(exam["state"], "plain") if exam else "plain",
        percent=round(100 * exam["answered"] / exam["questions"]) if exam and exam["questions"] else 0,
        believed=tuple(sorted((each for each in kinds if each[1]), key=lambda each: (-each[1], each[0])))[
            :WORST
        ],
        cost=_cost(told["estimate"], settings),
        is_connected=not told["at_gateway"] or settings is not None or providers is None,
    )


def _settings(name: str, providers: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    for each in providers:
        settings: Mapping[str, Any] = each["settings"]
        if name in {each["name"], settings.get("model")} and "read_price" in settings:
            return settings
    return None


def _cost(estimate: Mapping[str, Any] | None, settings: Mapping[str, Any] | None) -> int | None:
    """Dollars for a million tokens are micro-dollars for one. Rounded up to a cent."""
    if estimate is None or settings is None:
        return None
    prices = (("tokens_read", "read_price"), ("tokens_written", "written_price"))
    try:
        micros = sum(estimate[tokens] * Decimal(str(settings[price] or 0)) for tokens, price in prices)
    except InvalidOperation:
        return None
    return int((Decimal(micros) / _CENT).to_integral_value(ROUND_CEILING)) * _CENT


@router.get("/providers/exams")
async def show_exams(request: Request, viewer: Viewer) -> Response:
    return await _show(request, viewer)


async def _show(
    request: Request, viewer: PageViewer, *, refusal: str = "", status: int = HTTPStatus.OK
) -> Response:
    viewer.check_may(Scope.OPERATE)
    is_bound = viewer.person.brands is not None
    parts: dict[str, Any] = {"judges": None, "providers": None}
    if not is_bound:
        parts = await viewer.gather(
            judges=viewer.orchestrator.list_judges(), providers=viewer.gateway.list_providers()
        )
    judges, providers = parts["judges"], parts["providers"]
    lines = judge_lines(judges, providers["items"] if providers else None) if judges else []
    return page(
        request,
        viewer,
        "providers/exams.html.j2",
        status=status,
        **parts,
        bound=is_bound,
        lines=lines,
        estimate=judges["estimate"] if judges else None,
        minutes=max(1, round(judges["estimate"]["seconds"] / 60)) if judges and judges["estimate"] else 0,
        bar=judges["bar"] if judges else None,
        dollars=lambda micros: dollars(micros, viewer.t),
        percent=lambda share: f"{100 * share:.1f}",
        refusal=refusal,
    )


@router.post("/providers/exams/begin")
async def begin_exam(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Begins an exam, which costs what the page says and goes on by itself."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.orchestrator.begin_judge_exam(
            judge=form.text("judge"), again=True, idempotency_key=form.once or None
        )
        return redirect(request, "/providers/exams")

    return await once_or_refused(request, viewer, form, act, partial(_show, request, viewer))
