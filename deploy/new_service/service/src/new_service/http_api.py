"""The HTTP API for operators."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, Field

from chassis.http.api import UNKNOWN, View, add_routes, api, needs, router
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise, Scope
from chassis.http.problem_codes import RefusalError
from envelope import new_event_id
from envelope.brand.payloads import NewServiceNote, NewServiceRequested
from messaging import Database
from new_service import problem_codes


class NoteForm(BaseModel):
    note: Annotated[NewServiceNote, Field(examples=["Remember the milk"])]


class AcceptedNote(View):
    note_id: UUID


class NoteView(View):
    note_id: UUID
    note: str


def create_api(database: Database, authorise: Authorise) -> FastAPI:
    app = api(
        "Brand Engine: new_service",
        authorise,
        codes=problem_codes.ALL,
        answers=database,
        description="Notes, which are handled after they were accepted.",
    )
    add_routes(app, _note_routes(database))
    keep_audit_log(app, database)
    return app


def _note_routes(database: Database) -> APIRouter:
    routes = router("/notes", tags=["notes"])

    @routes.post(
        "", status_code=HTTPStatus.ACCEPTED, summary="Accept a note", dependencies=[needs(Scope.OPERATE)]
    )
    async def submit_note(form: NoteForm) -> AcceptedNote:
        """The answer comes once the command is stored, so it is not lost."""
        note_id = new_event_id()
        async with database.transaction() as tx:
            tx.send(NewServiceRequested(note_id=note_id, note=form.note))
        return AcceptedNote(note_id=note_id)

    @routes.get(
        "/{note_id}", summary="Get a handled note", responses=UNKNOWN, dependencies=[needs(Scope.READ)]
    )
    async def get_note(note_id: UUID) -> NoteView:
        """A note that is not handled yet is unknown."""
        async with database.connection() as connection:
            found = await connection.fetchrow("select note_id, note from notes where note_id = $1", note_id)
        if found is None:
            raise RefusalError(problem_codes.UNKNOWN_NOTE, f"note {note_id} is not handled yet, or unknown")
        return NoteView(**found)

    return routes
