"""The gateway's HTTP API, as far as operators need it."""

from typing import Annotated, Any

from brandctl.asking import ServiceClient


class Gateway(ServiceClient):
    """A client; use it as a context manager."""

    service = "gateway"

    def call(self, method: str, path: str, body: Any = None, **parameters: str | None) -> dict[str, Any]:
        """The JSON object that is answered; an empty one if there is nothing to say.

        Raises:
            ServiceError: it cannot be reached, refused, or is no gateway.
        """
        return self._ask(method, f"/v1{path}", json=body, params=parameters)


GatewayUrl = Annotated[str | None, Gateway.address_option()]
