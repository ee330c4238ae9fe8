"""Reads JSON from the APIs of other services."""

import json
from collections.abc import Mapping
from typing import Any

from chassis.http.client import JsonAnswer, ServiceClient, UnusableAnswerError


async def read_json(client: ServiceClient, path: str, about: str) -> Mapping[str, Any]:
    """The JSON object at this path of a service.

    Raises:
        chassis.http.client.PassingError: the service does not answer, for a reason that may pass.
        UnusableAnswerError: the answer is not a JSON object.
    """
    answer = await client.get(path, about=about)
    assert isinstance(answer, JsonAnswer), "no entity tag was sent"
    try:
        document = json.loads(answer.body)
    except ValueError as error:
        raise UnusableAnswerError(f"{client.peer.name} answers no JSON about {about}") from error
    if not isinstance(document, dict):
        raise UnusableAnswerError(f"{client.peer.name} answers no JSON object about {about}")
    return document
