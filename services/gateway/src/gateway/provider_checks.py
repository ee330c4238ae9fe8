"""`POST /v1/providers/{name}/check`: whether a provider answers, by the smallest request that it can be sent."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict

from chassis.http.api import View, needs, router
from chassis.http.callers import Scope
from gateway.calls import CallAnswer
from gateway.credentials import ProviderAccounts
from gateway.credentials.routes import Name
from gateway.model import ChatCompletions
from gateway.model.completions import ModelCall
from gateway.model.requests import ChatMessage, ChatRequest
from gateway.problems import FROM_PROVIDERS, CallProblemError
from gateway.providers.model_providers import MODEL_CLIENTS
from gateway.providers.search_results import SearchQuery
from gateway.requests import Brand, IdempotencyKey
from gateway.search import WebSearch
from gateway.search.web_search import SearchCall

CHECK_PROVIDER: Final = "/v1/providers/{name}/check"
_QUESTION: Final = "Answer with the one word: ready"
_QUERY: Final = "weather"
_TOKENS: Final = 64
"""Enough for a word after some thought of a model that reasons."""
_SHOWN: Final = 200


class CheckProvider(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    brand: Brand
    """The brand that pays for the request."""


class ProviderCheck(View):
    works: bool
    problem: str | None
    """Its type, such as `provider.refused`; null if the provider works."""
    detail: str
    """What it answered, shortened, or what is wrong and what to do."""
    spent: int
    """Micro-dollars."""


def check_routes(
    accounts: ProviderAccounts, completions: ChatCompletions, web_search: WebSearch
) -> APIRouter:
    """Creates the route."""
    routes = router("/providers", tags=["Providers"])

    @routes.post(
        "/{name}/check",
        dependencies=[needs(Scope.ADMIN)],
        summary="Try a provider by a small request",
        responses=FROM_PROVIDERS,
    )
    async def check_provider(
        name: Annotated[Name, Path()], request: CheckProvider, idempotency_key: IdempotencyKey = None
    ) -> ProviderCheck:
        """One word from a model, or one search: it costs what such a request costs, and reuses no earlier answer of a model.

        A provider that does not work is an answer too, with status 200.
        """
        account = await accounts.find(name)
        try:
            if account.kind in MODEL_CLIENTS:
                # By its bound: some providers call it differently, and the account knows how.
                asked = ChatRequest(
                    model=name, messages=[ChatMessage(role="user", content=_QUESTION)], max_tokens=_TOKENS
                )
                answer = await completions.write(ModelCall(asked, request.brand, idempotency_key, anew=True))
                told = _said(answer)
            else:
                search = SearchCall(SearchQuery(text=_QUERY, count=1), request.brand, name, idempotency_key)
                _, answer = await web_search.search(search)
                told = _found(answer)
        except CallProblemError as error:
            return ProviderCheck(
                works=False, problem=error.problem.type, detail=error.problem.detail, spent=0
            )
        return ProviderCheck(works=True, problem=None, detail=told[:_SHOWN], spent=answer.spent)

    return routes


def _said(answer: CallAnswer) -> str:
    value: Any = answer.value
    content = value["document"]["choices"][0]["message"].get("content")
    return " ".join(str(content or "").split())


def _found(answer: CallAnswer) -> str:
    results: Any = answer.value
    return str(results[0]["title"]) if results else ""
