"""Whatever its document lets one ask, social answers as the document says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from envelope.brand.payloads import SocialCreate
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_social_is_as_documented(
    social: Any, new_command: Callable[..., SocialCreate], tmp_path: Path, thorough: bool
) -> None:
    for _ in range(30):
        await social.send(new_command(uuid4(), approval="everything"))
        await social.events(1)
    page = (await social.api.get("/v1/posts", params={"limit": 200})).json()
    known = {"path.post_id": [each["post_id"] for each in page["items"]], "query.brand": ["daily-grind"]}
    await fuzz(social.api, tmp_path, known=known, thorough=thorough)
