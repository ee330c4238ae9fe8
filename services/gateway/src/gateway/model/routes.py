"""`POST /v1/chat/completions` and `GET /v1/models`, compatible with OpenAI's client libraries."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse

from chassis.http.api import needs, router
from chassis.http.callers import Scope
from gateway.model.completions import ChatCompletions, ModelCall
from gateway.model.requests import ChatRequest
from gateway.problems import FROM_PROVIDERS, CallProblem, CallProblemError
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
"""Our problems → OpenAI's codes."""


def chat_routes(completions: ChatCompletions) -> APIRouter:
    routes = router(tags=["Models"])

    @routes.post(
        "/chat/completions",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Request a completion from a model",
        response_model=None,
        responses=FROM_PROVIDERS,
    )
    async def create_chat_completion(
        request: ChatRequest,
        x_brand: Annotated[Brand, Header(description="Slug of the brand that pays.")],
        idempotency_key: IdempotencyKey = None,
        cache_control: Annotated[
            str, Header(description="`no-cache`: do not reuse the answer to another command.")
        ] = "",
    ) -> Response:
        """Returns the provider's answer with an additional member `gateway`.

        `gateway` has `ending` (complete, length, content_filter or refusal), `call_id`, `spent` (micro-dollars, for
        this request) and `kept`.
        """
        anew = "no-cache" in cache_control or "no-store" in cache_control
        try:
            answer = await completions.write(ModelCall(request, x_brand, idempotency_key, anew))
        except CallProblemError as error:
            return _refusal(error.problem)
        value: Any = answer.value
        told = {
            "ending": value["ending"],
            "call_id": str(answer.call_id),
            "spent": answer.spent,
            "kept": answer.kept,
        }
        return JSONResponse({**value["document"], "gateway": told})

    @routes.get("/models", dependencies=[needs(Scope.READ)], summary="List the connected models")
    async def list_models() -> dict[str, Any]:
        found = await completions.models()
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "owned_by": model} for name, model in found],
        }

    return routes


def _refusal(problem: CallProblem) -> Response:
    """Problem details with OpenAI's member added: `{"error": {"message", "type", "code"}}`."""
    error = {
        "message": problem.detail,
        "type": problem.type,
        "param": None,
        "code": _CODES.get(problem.type, problem.type),
    }
    return problem.response(error=error)
