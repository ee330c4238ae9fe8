"""What Instagram and Threads have in common: containers that are made, polled and published, and errors of Meta's Graph API.

Documented: https://developers.facebook.com/docs/graph-api/guides/error-handling,
https://developers.facebook.com/docs/instagram-platform/reference/error-codes
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.client import HTTPException
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake

_LIVES: Final = timedelta(hours=24)


@dataclass(slots=True)
class Container:
    id: str
    given: Mapping[str, str]
    made: datetime
    polls: int
    """So often it is told to be in progress."""
    status: str = "IN_PROGRESS"


def media_type_by_name(url: str) -> str | None:
    """What would be fetched from there; None: nothing could be."""
    name = urlsplit(url).path.lower()
    types = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
    return next((kind for end, kind in types.items() if name.endswith(end)), None)


def media_type_by_fetching(url: str) -> str | None:
    """The media type of the fetched picture; None if the fetch fails, as from an unreachable server."""
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=60) as answer:
            kind: str = answer.headers.get_content_type()
    except (OSError, HTTPException):
        return None
    return kind if kind.startswith(("image/", "video/")) else None


class GraphFake(Fake):
    """`polls`: so often a container is in progress before it is finished; `quota`: posts of a day."""

    def __init__(self, token: str, user_id: str, username: str, *, quota: int, polls: int) -> None:
        super().__init__()
        self.token = token
        self.user_id = user_id
        self.username = username
        self.quota = quota
        self.polls = polls
        self.containers: dict[str, Container] = {}
        self.media_type: Callable[[str], str | None] = media_type_by_name
        """What this provider would find at the address of a picture."""
        self._ids = count(17_900_000_000_000_001)

    # --- containers ---------------------------------------------------------------------------------------------------

    def contain(self, given: Mapping[str, str], polls: int) -> Reply:
        made = Container(str(next(self._ids)), given, self.now(), polls)
        self.containers[made.id] = made
        return as_json({"id": made.id})

    def status_of(self, container: Container) -> str:
        """The current status; each query advances it."""
        if container.status in {"IN_PROGRESS", "FINISHED"} and self.now() - container.made > _LIVES:
            container.status = "EXPIRED"
        elif container.status == "IN_PROGRESS":
            container.polls -= 1
            if container.polls < 0:
                container.status = "FINISHED"
        return container.status

    def publish(self, container: Container, text: str, url: str, more: Mapping[str, Any]) -> Reply:
        container.status = "PUBLISHED"
        made = AcceptedItem(
            str(next(self._ids)),
            self.username,
            text,
            kind="comment" if more.get("answers") else "post",
            url=url,
            more={
                **more,
                "container": container.id,
                "timestamp": self.now().strftime("%Y-%m-%dT%H:%M:%S+0000"),
            },
        )
        self.accept(made)
        return as_json({"id": made.id})

    def is_published_out(self) -> bool:
        return sum(each.kind == "post" for each in self.accepted) >= self.quota

    def media(self, post: AcceptedItem, fields: str, text_field: str) -> dict[str, Any]:
        known = {
            "id": post.id,
            text_field: post.text,
            "permalink": post.url,
            "timestamp": post.more["timestamp"],
            "username": self.username,
            "media_type": "IMAGE",
        }
        return {name: known[name] for name in {"id", *fields.split(",")} if name in known}

    def listed(self, request: Request, posts: Sequence[AcceptedItem], text_field: str) -> Reply:
        """Newest first; a cursor stands for a post, and `after` it come older ones."""
        fields, most = request.query.get("fields", ""), int(request.query.get("limit", "25"))
        after = request.query.get("after")
        older = [each for each in reversed(posts) if after is None or int(each.id) < int(after)]
        page = older[:most]
        paging = {"cursors": {"before": page[0].id, "after": page[-1].id}} if page else {}
        return as_json({"data": [self.media(each, fields, text_field) for each in page], "paging": paging})

    # --- errors -------------------------------------------------------------------------------------------------------

    def is_known(self, request: Request) -> bool:
        return self.token in {request.bearer, given(request).get("access_token")}

    def is_me(self, user: str) -> bool:
        return user in {"me", self.user_id}

    def expired(self, request: Request) -> Reply:
        message = "Error validating access token: Session has expired on Sunday, 01-Nov-26 00:00:00 PST."
        return graph_error(message, 190, 463, status=401)

    def limited(self, request: Request) -> Reply:
        # A limit of the Graph API is no 429.
        return graph_error("Application request limit reached", 4, status=403, is_transient=True)

    def failed(self, request: Request, status: int) -> Reply:
        message = "An unexpected error has occurred. Please retry your request later."
        return graph_error(message, 2, status=status, is_transient=True)

    def unknown(self, request: Request) -> Reply:
        return missing(request.path.rpartition("/")[2])


def given(request: Request) -> dict[str, str]:
    """Parameters, wherever they stand: in the query, a form or JSON."""
    found = dict(request.query)
    if request.media_type == "application/json" and request.body:
        found |= {name: str(value) for name, value in request.json().items()}
    elif request.media_type == "application/x-www-form-urlencoded":
        found |= request.form()
    return found


def missing(what: str) -> Reply:
    message = f"Unsupported request. Object with ID '{what}' does not exist, cannot be loaded due to missing permissions, or does not support this operation"
    return graph_error(message, 100, 33, kind="GraphMethodException")


def graph_error(
    message: str,
    code: int,
    subcode: int | None = None,
    *,
    status: int = 400,
    kind: str = "OAuthException",
    is_transient: bool = False,
    told: str | None = None,
) -> Reply:
    error: dict[str, Any] = {"message": message, "type": kind, "code": code}
    if subcode is not None:
        error["error_subcode"] = subcode
    error["is_transient"] = is_transient
    if told is not None:
        error |= {"error_user_title": message, "error_user_msg": told}
    return as_json({"error": error | {"fbtrace_id": "AbCdEfGhIjK"}}, status)
