"""Why a sign-in at the identity provider fails."""

from datetime import timedelta
from http import HTTPStatus

from gateway.problems import CallProblem, CallProblemError


def refused(why: str) -> CallProblemError:
    return CallProblemError(
        CallProblem(
            "sign_in.refused",
            f"the identity provider's answer signs nobody in: {why}; begin again",
            HTTPStatus.FORBIDDEN,
        )
    )


def away(why: str) -> CallProblemError:
    return CallProblemError(
        CallProblem(
            "sign_in.provider_away",
            f"the identity provider does not answer: {why}; try again, or sign in another way",
            HTTPStatus.SERVICE_UNAVAILABLE,
            transient=True,
            after=timedelta(seconds=30),
        )
    )


def unusable(why: str) -> CallProblemError:
    return CallProblemError(
        CallProblem(
            "sign_in.provider_unusable",
            f"the identity provider cannot be used: {why}; check OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET",
            HTTPStatus.FAILED_DEPENDENCY,
        )
    )


def not_configured() -> CallProblemError:
    return CallProblemError(
        CallProblem(
            "sign_in.not_configured",
            "no identity provider is configured: set OIDC_ISSUER and OIDC_CLIENT_ID of the gateway",
            HTTPStatus.NOT_FOUND,
        )
    )
