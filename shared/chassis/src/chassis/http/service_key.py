"""The key that a caller must send: the process's own, compared in constant time."""

import hmac
from typing import Final

from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request

from chassis.http.callers import SERVICE, Caller

API_PREFIX: Final = "/v1/"
"""Everything under it asks for a key."""


class ServiceKey:
    """Knows who sends the right `X-Service-Key`, which opens every route; raises HTTP 401 otherwise."""

    def __init__(self, key: SecretStr) -> None:
        self._key = key.get_secret_value().encode()

    async def __call__(self, request: Request) -> Caller:
        given = request.headers.get("x-service-key", "").encode()
        if not hmac.compare_digest(given, self._key):
            raise HTTPException(401, "send the service key in the header X-Service-Key")
        return SERVICE
