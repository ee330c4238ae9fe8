"""Begins a session: a new token at every sign-in, even if the browser sent a cookie."""

from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from chassis import Connection
from chassis.networks import network_of
from console.pages.parts import parts_of
from console.people.domain import Person
from console.sealing import new_token, seal, token_hash, token_key
from console.sessions import cookies, store
from console.sign_in import slowing


def network(request: Request) -> str:
    return network_of(request.client.host) if request.client else ""


async def begin_session(
    connection: Connection,
    request: Request,
    person: Person,
    own_key: bytes,
    *,
    confirmed_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> str:
    """Stores a new session, ends the one of the request's cookie, and returns the token for `cookies.write`.

    Args:
        connection: to the database.
        request: of the sign-in.
        person: the one signing in.
        own_key: the person's own key.
        confirmed_at: when the person proved themselves; None: just now.
        ends_at: when the session ends in any case; None: by the settings alone.
    """
    urls = parts_of(request).urls
    if (former := cookies.read(request, urls)) is not None:
        await store.end_by_token(connection, token_hash(former))
    token = new_token()
    await store.insert_session(
        connection,
        token_hash(token),
        person.id,
        seal(own_key, token_key(token), "session"),
        browser=request.headers.get("user-agent", "")[:300],
        address=request.client.host if request.client else "",
        confirmed_at=confirmed_at,
        ends_at=ends_at,
    )
    await slowing.note_success(connection, person.id, person.name, network(request))
    return token


def signed_in(response: Response, request: Request, token: str) -> Response:
    cookies.write(response, parts_of(request).urls, token)
    return response
