"""The gateway's HTTP API, as far as operators need it."""

from typing import Annotated, Any

from brandctl.asking import ServiceClient


class GatewayClient(ServiceClient):
    """A client; use it as a context manager."""

    service = "gateway"

    def call(self, method: str, path: str, body: Any = None, **parameters: str | None) -> dict[str, Any]:
        """The JSON object that is answered; an empty one if there is nothing to say.

        Raises:
            ServiceError: it cannot be reached, refused, or is no gateway.
        """
        return self._ask(method, f"/v1{path}", json=body, params=parameters)

    def entries(self, path: str, *, limit: int, **parameters: str | None) -> dict[str, Any]:
        """So many entries of a list, the newest first. Raises what `call` does."""
        # By its former name, which gateways of earlier versions know, too.
        return self._entries(f"/v1{path}", parameters, limit=limit, cursor="before")


GatewayUrl = Annotated[str | None, GatewayClient.address_option()]
