"""The monitor answers every request that its document allows as the document says."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import DomainMessage
from messaging import DeadLetter
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_the_monitor_is_as_documented(
    desk: httpx.AsyncClient,
    office: Any,
    record: Callable[..., Awaitable[list[UUID]]],
    new_death: Callable[..., DomainMessage[DeadLetter]],
    tmp_path: Path,
    thorough: bool,
) -> None:
    ids = [str(each) for each in await record(new_death(b"garbage"), *(new_death() for _ in range(30)))]
    canaries = []
    for each in (await desk.get("/v1/dead-letters/summary")).json()["groups"]:
        begun = await desk.post("/v1/canary-replays", json={"group": each["group"]})
        canaries += [begun.json()["id"]] if begun.status_code == 202 else []
    meant = {"verb": "discard", "type": "nothing", "reason": "none is meant"}
    operations = [(await desk.post("/v1/dead-letter-operations", json=meant)).json()["id"] for _ in range(5)]
    names = [f"route-{number}" for number in range(30)]
    for name in names:
        await office.set_route(name, account="ops")
    await office.look()
    noticed = [str(row["id"]) for row in await office.rows("select id from notifications")]
    known = {
        "query.type": ["dead_letter.resolved", "content.publish"],
        "path.dead_letter_id": ids,
        "query.before": ids,
        "body.ids[*]": ids,
        "path.canary_id": canaries,
        "path.operation_id": operations,
        "path.name": names,
        "path.notification_id": noticed,
        "body.account": ["ops"],
    }
    # No Prometheus, no Alertmanager and no management API is connected.
    unreached = [
        "POST /v1/broker-users",
        "POST /v1/broker-users/{key_id}/rotate",
        "DELETE /v1/broker-users/{key_id}",
        "POST /v1/alerts/{alert_id}/acknowledge",
        "POST /v1/alerts/{alert_id}/silence",
        "POST /v1/alerts/silences/{silence_id}/end",
    ]
    await fuzz(desk, tmp_path, known=known, thorough=thorough, unreached=unreached)
