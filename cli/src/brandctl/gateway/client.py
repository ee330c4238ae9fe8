"""Client of the gateway's API for operators."""

from typing import Annotated, Any

from brandctl.asking import ServiceClient


class GatewayClient(ServiceClient):
    """A client; use it as a context manager."""

    service = "gateway"

    def call(self, method: str, path: str, body: Any = None, **parameters: str | None) -> dict[str, Any]:
        """Sends a request; returns the JSON object of the answer, empty for 204.

        Raises:
            ServiceError: the service cannot be reached, refuses, or is no gateway.
        """
        return self._ask(method, f"/v1{path}", json=body, params=parameters)

    def entries(self, path: str, *, limit: int, **parameters: str | None) -> dict[str, Any]:
        """Returns up to `limit` entries of a list, newest first. Raises what `call` raises."""
        # The former name of the cursor, which gateways of earlier versions know, too.
        return self._entries(f"/v1{path}", parameters, limit=limit, cursor="before")


GatewayUrl = Annotated[str | None, GatewayClient.address_option()]
