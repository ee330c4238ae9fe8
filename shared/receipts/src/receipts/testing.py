"""For tests of adapters: a gateway that sends requests directly to servers, with fences and without credentials."""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import httpx

from receipts.accounts import IDENTITY, AccountClient, AccountResponse
from receipts.errors import FencedOffError, NotSent, OtherIdentity, Refused, UnknownOutcome
from receipts.gateway import AccountSummary


class DirectGateway:
    """Replaces the gateway: account → address of a server, such as a fake's.

    Args:
        servers: account → `http://127.0.0.1:…`.
        headers: account → headers that the gateway would add to its requests.
        accounts: the result of `accounts` for every brand.
    """

    def __init__(
        self,
        servers: Mapping[str, str],
        *,
        headers: Mapping[str, Mapping[str, str]] | None = None,
        accounts: tuple[AccountSummary, ...] = (),
    ) -> None:
        self._servers = {name: url.rstrip("/") for name, url in servers.items()}
        self._headers = headers or {}
        self._accounts = accounts
        self._fences: Counter[UUID] = Counter()
        # Idle connections that the other side has closed would look like lost answers.
        self._http = httpx.AsyncClient(
            follow_redirects=False, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    def account(self, name: str, brand: str) -> AccountClient:
        return AccountClient(name, brand, self._ask, about=self._about)

    async def _about(self, name: str, brand: str) -> Mapping[str, str]:
        return next((each.facts for each in await self.accounts(brand) if each.name == name), {})

    async def accounts(self, brand: str) -> tuple[AccountSummary, ...]:  # noqa: ARG002  (as `Door` has it)
        return self._accounts

    async def identities(self, account: str, brand: str) -> Sequence[str]:
        return next((each.identities for each in await self.accounts(brand) if each.name == account), ())

    async def close(self, receipt_id: UUID, fence: int, **_: str) -> None:
        self._pass(receipt_id, fence)

    def _pass(self, receipt_id: UUID, fence: int) -> None:
        if fence < self._fences[receipt_id]:
            raise FencedOffError("somebody else has taken it up", self._fences[receipt_id])
        self._fences[receipt_id] = fence

    async def _ask(self, name: str, asked: Mapping[str, Any], seconds: float) -> AccountResponse:
        if name not in self._servers:
            raise Refused("not_connected", f"no account {name} is connected")
        effect = asked.get("effect")
        if effect is not None:
            self._pass(UUID(effect["receipt_id"]), effect["fence"])
        self._demand(name, asked.get(IDENTITY))
        try:
            response = await self._http.request(
                asked["method"],
                f"{self._servers[name]}{asked['path']}",
                params=asked.get("query"),
                timeout=seconds,
                **self._sent(name, asked),
            )
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotSent("unreachable", f"it does not answer: {error!r}") from error
        except httpx.TransportError as error:
            raise UnknownOutcome(f"no whole answer: {error!r}") from error
        headers = {key.lower(): value for key, value in response.headers.items()}
        try:
            return AccountResponse(response.status_code, headers, response.json())
        except ValueError:
            return AccountResponse(response.status_code, headers, None, response.text)

    def _demand(self, name: str, identity: str | None) -> None:
        """Checks the identity as the gateway does."""
        connected = next((each.identities for each in self._accounts if each.name == name), ())
        if identity is not None and connected and identity not in connected:
            retry_at = datetime.now(UTC) + timedelta(seconds=10)
            raise OtherIdentity(f"{name} is connected as another user", retry_at)

    def reconnect(self, accounts: tuple[AccountSummary, ...]) -> None:
        """Replaces the accounts, as after a reconnection."""
        self._accounts = accounts

    def _sent(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        headers = {**asked.get("headers", {}), **self._headers.get(name, {})}
        if "json" in asked:
            return {"json": asked["json"], "headers": headers}
        if "form" in asked:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            return {"content": urlencode(asked["form"]).encode(), "headers": headers}
        if "content" in asked:
            headers["Content-Type"] = asked["content"]["type"]
            return {"content": base64.b64decode(asked["content"]["base64"]), "headers": headers}
        if "parts" in asked:
            return {"files": [_file(part) for part in asked["parts"]], "headers": headers}
        return {"headers": headers}


def _file(part: Mapping[str, str]) -> tuple[str, tuple[str | None, bytes, str | None]]:
    data = part["text"].encode() if "text" in part else base64.b64decode(part["base64"])
    return part["name"], (part.get("filename"), data, part.get("type"))
