"""What the API of incoming webhooks takes and returns."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from chassis.http.api import View
from events.incoming_hooks.definition import HookDefinition, HookKind
from events.incoming_hooks.store import Arrival, ArrivalState, Hook


class HookForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: HookKind = Field(
        description="`standard`: signatures of Standard Webhooks. `github`: GitHub's. `path`: a secret in the address. It cannot be changed later."
    )
    command: HookDefinition


class HookView(View):
    """An incoming webhook of a brand. All times are UTC."""

    brand: str
    name: str
    kind: HookKind
    path: Annotated[str, Field(examples=["/v1/hooks/daily-grind.cms"])] = Field(
        description="Where senders send to; of the kind `path`, a slash and the secret follow."
    )
    command: dict[str, Any] = Field(description="As it was defined.")
    former_secret_until: datetime | None = Field(
        description="Until when the former secret is valid, too; null: there is none."
    )
    rotated_at: datetime | None
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, hook: Hook) -> Self:
        return cls.model_validate(_fields(hook))


class HookWithSecret(HookView):
    secret: str | None = Field(
        description="Shown only in the answer that makes it; null if the hook existed. If it is lost, rotate it."
    )

    @classmethod
    def made(cls, hook: Hook, secret: str | None) -> Self:
        return cls.model_validate(_fields(hook) | {"secret": secret})


def _fields(hook: Hook) -> dict[str, Any]:
    return {
        "brand": hook.brand,
        "name": hook.name,
        "kind": hook.kind,
        "path": f"/v1/hooks/{hook.brand}.{hook.name}",
        "command": hook.definition.model_dump(mode="json"),
        "former_secret_until": hook.former_until,
        "rotated_at": hook.rotated_at,
        "created_by": hook.created_by,
        "created_at": hook.created_at,
    }


class HookList(View):
    items: list[HookView]


class RotateHook(BaseModel):
    model_config = ConfigDict(extra="forbid")

    grace_hours: int = Field(
        default=24, ge=0, le=720, description="Hours for which the former secret stays valid."
    )


class HookArrival(View):
    """One request to the hook."""

    id: UUID
    sender_id: str | None = Field(
        description="`webhook-id` or `X-GitHub-Delivery`, or the hash of the body; null if it was refused before it was stored."
    )
    state: ArrivalState = Field(
        description="`waiting`: it becomes a command as soon as the orchestrator answers. `done`. `ignored`: the definition takes no such body. `refused`."
    )
    code: str | None = Field(description="Why it was refused, for programs.")
    detail: str | None = Field(description="Why it was refused, or waits.")
    location: str | None = Field(description="Path of what the command made or changed.")
    attempts: int
    received_at: datetime

    @classmethod
    def of(cls, arrival: Arrival) -> Self:
        names = [name for name in cls.model_fields if name != "id"]
        return cls.model_validate(
            {"id": arrival.arrival_id} | {name: getattr(arrival, name) for name in names}
        )


class HookArrivalList(View):
    items: list[HookArrival] = Field(description="The last hundred, the newest first.")
