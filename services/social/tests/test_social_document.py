"""Social answers every request that its document allows as the document says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import Response

from chassis import ServiceKey
from chassis.testing import serving
from envelope.brand.payloads import SocialCreate
from receipts import Receipts
from receipts.testing import DirectGateway
from social.api import create_api
from social.calendar import SlotScheduler
from social.sending import DuePosts
from social.urls import FeedUrls
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_social_is_as_documented(
    social: Any,
    social_service: Any,
    social_database: asyncpg.Connection,
    new_command: Callable[..., SocialCreate],
    tmp_path: Path,
    thorough: bool,
) -> None:
    for _ in range(30):
        await social.send(new_command(uuid4(), approval="everything"))
        await social.events(1)
    page = (await social.api.get("/v1/posts", params={"limit": 200})).json()
    await social_database.execute(
        """
        insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state, due_at,
                                   in_queue)
        select gen_random_uuid(), 'daily-grind', gen_random_uuid(), 'mastodon', 'mastodon',
               '{"title": "Tea", "keyword": "tea", "description": "", "points": [], "tags": [], "link": null, "pictures": [],
                 "language": null}',
               'mastodon', 'mastodon-eu', 'Tea.', 'planned', now() + each * interval '1 day', true
        from generate_series(1, 30) as each
        """
    )
    elsewhere = await social_database.fetch("select post_id, content_id from channel_posts")
    posts = [str(each["post_id"]) for each in elsewhere]
    slots = {"slots": [{"times": ["09:00"]}]}
    (await social.api.put("/v1/brands/daily-grind/accounts/mastodon-eu/slots", json=slots)).raise_for_status()
    receipts = [str(uuid4()) for _ in range(30)]
    await social_database.execute(
        """
        insert into receipts (receipt_id, kind, account, brand_slug, subject, prepared, steps, step, state)
        select id::uuid, 'mastodon', 'mastodon', 'daily-grind', 'a post', '{}', array['post'], 'post', 'in_doubt'
        from unnest($1::text[]) as id
        """,
        receipts,
    )
    articles = [str(each["content_id"]) for each in elsewhere]
    again = {"kind": "evergreen", "cool_down_days": 30, "at_most": 3}
    for article, post in zip(articles, posts, strict=True):
        for path in (f"/v1/brands/daily-grind/articles/{article}", f"/v1/calendar/{post}"):
            (await social.api.put(f"{path}/repeats", json=again)).raise_for_status()
    known = {
        "query.type": ["social.create"],
        "path.receipt_id": receipts,
        "path.content_id": articles,
        "path.post_id": [*posts, *(each["post_id"] for each in page["items"][:6])],
        "query.brand": ["daily-grind"],
        "path.slug": ["daily-grind"],
        "path.account": ["mastodon-eu"],
        "path.channel": ["mastodon", "x"],
        "path.part": ["channel-posts"],
    }
    # Asked as often as there are routes with a wrong key, the process itself would let the asker wait.
    key = ServiceKey(SecretStr(social.api.headers["X-Service-Key"]))
    database, urls = social_service.database, FeedUrls.under(social.url)
    due = DuePosts(database, SlotScheduler(), at_once=1)
    app = create_api(database, key, urls, due, feeds=_nothing, receipts=Receipts(database, DirectGateway({})))
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, headers=social.api.headers, trust_env=False, timeout=60) as api,
    ):
        await fuzz(api, tmp_path, known=known, thorough=thorough)


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    await Response(status_code=404)(scope, receive, send)
