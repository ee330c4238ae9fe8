"""`POST /v1/chat/completions` and `GET /v1/models`, as client libraries of OpenAI expect them."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse

from chassis.http.api import needs, router
from chassis.http.callers import Scope
from gateway.model.requests import ChatRequest
from gateway.model.writing import Wanted, Writing
from gateway.problems import FROM_PROVIDERS, Problem, ProblemError
from gateway.requests import Brand, IdempotencyKey

COMPLETIONS: Final = "/v1/chat/completions"
MAX_BODY_BYTES: Final = 2_000_000

_CODES: Final[Mapping[str, str]] = {
    "provider.quota_exhausted": "insufficient_quota",
    "budget.exhausted": "insufficient_quota",
    "budget.set_aside": "insufficient_quota",
    "spending.stopped": "insufficient_quota",
    "model.context_too_long": "context_length_exceeded",
    "model.content_filtered": "content_filter",
    "provider.limited": "rate_limit_exceeded",
    "limit.reached": "rate_limit_exceeded",
}
"""What OpenAI's clients know our problems as."""


def chat_routes(writing: Writing) -> APIRouter:
    routes = router(tags=["Models"])

    @routes.post(
        "/chat/completions",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Have a model write",
        response_model=None,
        responses=FROM_PROVIDERS,
    )
    async def create_chat_completion(
        request: ChatRequest,
        x_brand: Annotated[Brand, Header(description="Slug of the brand that pays.")],
        idempotency_key: IdempotencyKey = None,
        cache_control: Annotated[
            str, Header(description="`no-cache`: not to be answered with what another command was.")
        ] = "",
    ) -> Response:
        """The provider's answer, and what the gateway says of it.

        In `gateway`: `ending` (complete, length, content_filter or refusal), `call_id`, `spent` (micro-dollars, for this
        request) and `kept`.
        """
        anew = "no-cache" in cache_control or "no-store" in cache_control
        try:
            answer = await writing.write(Wanted(request, x_brand, idempotency_key, anew))
        except ProblemError as error:
            return _refusal(error.problem)
        value: Any = answer.value
        told = {
            "ending": value["ending"],
            "call_id": str(answer.call_id),
            "spent": answer.spent,
            "kept": answer.kept,
        }
        return JSONResponse({**value["document"], "gateway": told})

    @routes.get("/models", dependencies=[needs(Scope.READ)], summary="What models are connected")
    async def list_models() -> dict[str, Any]:
        found = await writing.models()
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "owned_by": model} for name, model in found],
        }

    return routes


def _refusal(problem: Problem) -> Response:
    """As everywhere, and as OpenAI says it: `{"error": {"message", "type", "code"}}`."""
    error = {
        "message": problem.detail,
        "type": problem.type,
        "param": None,
        "code": _CODES.get(problem.type, problem.type),
    }
    return problem.response(error=error)
