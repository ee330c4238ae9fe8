"""`/v1/people`: what operators ask with the service key."""

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final, Self
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from chassis import Connections
from chassis.api_keys import ApiKey
from chassis.http.api import UNKNOWN, MayAdminister, View, router
from chassis.http.problem_codes import RefusalError
from console.people import store
from console.people.domain import Person, Role, clean_name
from console.problem_codes import PERSON_EXISTS, UNKNOWN_PERSON
from console.sealing import new_token, seal, token_hash, token_key
from console.urls import ConsoleUrls

INVITATIONS: Final = "/v1/people/invitations"
LINK_GOOD_FOR: Final = timedelta(hours=1)


class InvitationRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    name: Annotated[str, Field(min_length=1, max_length=80, examples=["Ada"])]
    role: Role = Role.VIEWER
    brands: Annotated[tuple[str, ...], Field(max_length=1000)] | None = None
    """Slugs that the person may see; null: all brands."""
    key: Annotated[SecretStr, Field(max_length=100)]
    """The person's API key of the orchestrator; stored only sealed."""
    reset: bool = False
    """Whether the link gives a person of this name another password and this key."""

    @field_validator("name")
    @classmethod
    def _clean(cls, name: str) -> str:
        if not (cleaned := clean_name(name)):
            raise ValueError("is blank; fill it in")
        return cleaned

    @field_validator("key")
    @classmethod
    def _is_key(cls, key: SecretStr) -> SecretStr:
        if ApiKey.read(key.get_secret_value()) is None:
            raise ValueError("is no API key; make one with POST /v1/keys of the orchestrator")
        return key


class InvitationLink(View):
    url: str
    """Works once."""
    expires_at: datetime


class PersonView(View):
    id: UUID
    name: str
    role: Role
    brands: tuple[str, ...] | None
    key_id: str
    created_at: datetime
    signed_in_at: datetime | None

    @classmethod
    def of(cls, person: Person) -> Self:
        brands = None if person.brands is None else tuple(sorted(person.brands))
        return cls(
            id=person.id,
            name=person.name,
            role=person.role,
            brands=brands,
            key_id=person.key_id,
            created_at=person.created_at,
            signed_in_at=person.signed_in_at,
        )


class PersonList(View):
    items: tuple[PersonView, ...]


def people_routes(connections: Connections, urls: ConsoleUrls) -> APIRouter:
    routes = router("/people", tags=["people"])

    @routes.get("", summary="List people")
    async def list_people(caller: MayAdminister) -> PersonList:  # noqa: ARG001  (it names the scope)
        async with connections.connection() as connection:
            found = await store.list_people(connection)
        return PersonList(items=tuple(map(PersonView.of, found)))

    @routes.post("/invitations", summary="Invite a person", status_code=HTTPStatus.CREATED, responses=UNKNOWN)
    async def invite_person(caller: MayAdminister, request: InvitationRequest) -> InvitationLink:
        """Makes a link that is good once and for an hour. Its recipient chooses the password."""
        token, end = new_token(), datetime.now(UTC) + LINK_GOOD_FOR
        key = request.key.get_secret_value()
        parsed = ApiKey.read(key)
        assert parsed is not None
        async with connections.connection() as connection:
            person = await store.find_by_name(connection, request.name)
            if request.reset and person is None:
                raise RefusalError(
                    UNKNOWN_PERSON, f"nobody is called “{request.name}”; list the people first"
                )
            if not request.reset and person is not None:
                raise RefusalError(
                    PERSON_EXISTS, f"another person is called “{request.name}”; choose another name"
                )
            await store.insert_invitation(
                connection,
                token_hash(token),
                person=None if person is None else person.id,
                name=request.name if person is None else person.name,
                role=request.role if person is None else person.role,
                brands=frozenset(request.brands)
                if person is None and request.brands is not None
                else (None if person is None else person.brands),
                key_id=parsed.id,
                sealed_key=seal(key.encode(), token_key(token), "invitation"),
                invited_by=caller.name,
                expires_at=end,
            )
        kind = "start" if request.role is Role.OWNER and not request.reset else "invitations"
        return InvitationLink(url=urls.absolute(f"/{kind}/{token}"), expires_at=end)

    @routes.get("/{person_id}", summary="Read about a person", responses=UNKNOWN)
    async def get_person(caller: MayAdminister, person_id: UUID) -> PersonView:  # noqa: ARG001
        async with connections.connection() as connection:
            person = await store.find_person(connection, person_id)
        if person is None:
            raise _unknown()
        return PersonView.of(person)

    @routes.delete(
        "/{person_id}", summary="Remove a person", status_code=HTTPStatus.NO_CONTENT, responses=UNKNOWN
    )
    async def remove_person(caller: MayAdminister, person_id: UUID) -> None:  # noqa: ARG001
        """Ends all sessions at once. Revoke the person's API key at the orchestrator, too.

        Otherwise it is revoked when an owner next invites or removes a person on the screen.
        """
        async with connections.connection() as connection:
            if not await store.delete_person(connection, person_id):
                raise _unknown()

    return routes


def _unknown() -> RefusalError:
    return RefusalError(UNKNOWN_PERSON, "there is no such person; list the people first")
