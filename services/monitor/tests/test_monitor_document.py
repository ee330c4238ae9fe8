"""Whatever its document lets one ask, the monitor answers as the document says."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from envelope import DomainMessage
from messaging import DeadLetter
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_the_monitor_is_as_documented(
    api: httpx.AsyncClient,
    record: Callable[..., Awaitable[list[UUID]]],
    new_death: Callable[..., DomainMessage[DeadLetter]],
    tmp_path: Path,
    thorough: bool,
) -> None:
    ids = [str(each) for each in await record(new_death(b"garbage"), *(new_death() for _ in range(30)))]
    known = {"path.dead_letter_id": ids, "query.before": ids, "body.ids[*]": ids}
    await fuzz(api, tmp_path, known=known, thorough=thorough)
