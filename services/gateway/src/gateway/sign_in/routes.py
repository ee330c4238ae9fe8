"""`/v1/sign-in`: the console's requests for people who sign in at the identity provider. They need no key: the code is one."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from chassis import WebAddress
from chassis.http.api import View, needs, refusal, router
from chassis.http.callers import Scope
from gateway.sign_in.exchange import SignInExchange

EXCHANGE: Final = "/v1/sign-in"
_FAILS: Final = {
    **refusal(HTTPStatus.NOT_FOUND, "No identity provider is configured."),
    **refusal(HTTPStatus.FAILED_DEPENDENCY, "The identity provider cannot be used; `detail` says why."),
    **refusal(HTTPStatus.SERVICE_UNAVAILABLE, "The identity provider does not answer."),
}
Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43,128}$")]


class SignInView(View):
    """Where a browser signs in."""

    issuer: str
    client_id: str
    authorization_endpoint: str


class SignInRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)

    code: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,2000}$")]
    """As the browser brought it back."""
    code_verifier: Token
    """Of RFC 7636."""
    nonce: Token
    """The token has to name it."""
    redirect_uri: Annotated[WebAddress, Field(max_length=500)]


class SignedInView(View):
    """Who signed in."""

    issuer: str
    subject: str
    name: str
    authenticated_at: datetime | None
    """When the person last proved themselves at the provider; null: it does not say."""
    secret: str
    """Of this identity alone, and the same each time; kept nowhere."""


def sign_in_routes(exchange: SignInExchange) -> APIRouter:
    routes = router("/sign-in", tags=["Signing in"])

    @routes.get("", dependencies=[needs(Scope.READ)], summary="Where people sign in", responses=_FAILS)
    async def get_sign_in() -> SignInView:
        client_id, described = await exchange.describe()
        return SignInView(
            issuer=described.issuer,
            client_id=client_id,
            authorization_endpoint=described.authorization_endpoint,
        )

    @routes.post(
        "", dependencies=[needs(Scope.READ)], summary="Exchange a code for who signed in", responses=_FAILS
    )
    async def complete_sign_in(request: SignInRequest) -> SignedInView:
        """Asks the identity provider for the ID token of the code, checks it, and returns the person in it. A code works once."""
        found = await exchange.sign_in(
            request.code, request.code_verifier, request.redirect_uri, request.nonce
        )
        return SignedInView(
            issuer=found.identity.issuer,
            subject=found.identity.subject,
            name=found.identity.name,
            authenticated_at=found.identity.authenticated_at,
            secret=found.secret.get_secret_value(),
        )

    return routes
