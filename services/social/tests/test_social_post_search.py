"""All posts of a brand in one list, whichever way they went: by state, text, channel, article and age, page by page."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import asyncpg

from envelope.brand.payloads import SocialCreate

LIST = "/v1/brands/daily-grind/posts"
NEWEST = "/v1/brands/daily-grind/newest-posts"


async def listed(social: Any, **query: str) -> list[Any]:
    answer = await social.api.get(LIST, params=query)
    assert answer.is_success, answer.text
    items: list[Any] = answer.json()["items"]
    return items


async def test_all_posts_of_a_brand_are_found_newest_first(
    social: Any, new_command: Callable[..., SocialCreate], social_database: asyncpg.Connection
) -> None:
    out = new_command(uuid4(), title="Tea is steeped")
    url = await social.post(out)
    waits = new_command(uuid4(), approval="everything", title="Cold brew at home")
    await social.send(waits)
    await social.events(1)
    await social_database.execute(
        """
        insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state, reason, detail)
        values ($1, 'daily-grind', $2, 'mastodon', 'mastodon',
                '{"title": "Moka pot", "keyword": "moka", "description": "", "points": [], "tags": [], "link": null,
                  "pictures": [], "language": null}',
                'mastodon', 'mastodon-eu', 'A moka pot.', 'failed', 'refused', 'The network says no.')
        """,
        uuid4(),
        uuid4(),
    )
    found = await listed(social)
    assert [(each["channel"], each["state"]) for each in found] == [
        ("mastodon", "failed"),
        ("feed", "waiting"),
        ("feed", "posted"),
    ]
    assert found[0]["detail"] == "The network says no."
    assert found[2]["posted_at"] == found[2]["at"]

    assert [each["title"] for each in await listed(social, state="waiting")] == ["Cold brew at home"]
    assert [each["title"] for each in await listed(social, q="MOKA")] == ["Moka pot"]
    assert [each["title"] for each in await listed(social, channel="mastodon-eu")] == ["Moka pot"]
    assert [each["title"] for each in await listed(social, article=str(out.content_id))] == ["Tea is steeped"]
    assert await listed(social, since="2090-01-01T00:00:00Z") == []
    assert await listed(social, q="%") == []

    for query, count in (({}, 3), ({"state": "waiting"}, 1), ({"q": "%"}, 0)):
        counted = await social.api.get("/v1/brands/daily-grind/post-counts", params=query)
        assert counted.json() == {"count": count, "is_exact": True}

    asked = {"channel": ["mastodon", "feed", "mastodon-eu", "elsewhere"]}
    newest = (await social.api.get(NEWEST, params=asked)).json()["items"]
    assert [each["channel"] for each in newest] == asked["channel"]
    assert [[each["title"] for each in of["posted"]] for of in newest] == [[], ["Tea is steeped"], [], []]
    assert [of["failed"] for of in newest] == [[found[0]], [], [found[0]], []]
    assert (await social.api.get(NEWEST)).status_code == 422
    assert (await social.api.get(NEWEST, params={"channel": ["mastodon"] * 51})).status_code == 422
    assert (await social.http.get(NEWEST, params=asked)).status_code == 401

    pages: list[Any] = []
    after: dict[str, str] = {}
    for _ in found:
        page = (await social.api.get(LIST, params={"limit": "1", **after})).json()
        pages += page["items"]
        after = {"after": page["next"] or ""}
    assert (pages, page["next"]) == (found, None)
    assert (await social.api.get(LIST, params={"after": "elsewhere"})).status_code == 422
    assert (await social.http.get(LIST)).status_code == 401

    # A post that nobody reviewed can be read like the others, and no decision changes it.
    read = await social.api.get(f"/v1/posts/{found[2]['post_id']}")
    assert (read.json()["state"], read.json()["post_url"]) == ("posted", url)
    rejected = await social.api.post(
        f"/v1/posts/{found[2]['post_id']}/reject", json={"version": 1, "reason": "late"}
    )
    assert rejected.status_code == 409


async def test_a_text_is_counted_as_its_channel_counts_it_and_nothing_is_stored(
    social: Any, new_command: Callable[..., SocialCreate], social_database: asyncpg.Connection
) -> None:
    await social.send(new_command(uuid4(), approval="everything"))
    await social.events(1)
    (post,) = await listed(social)
    path = f"/v1/posts/{post['post_id']}"
    answer = await social.api.post(f"{path}/count", json={"text": "  Tea 👩‍🍳 \n\n\n\nis steeped.  "})
    assert answer.json() == {"counts": [{"unit": "characters", "used": 18, "maximum": 1000}]}
    assert (await social.api.get(path)).json()["version"] == 1
    assert await social_database.fetchval("select count(*) from audit_log") == 0
    assert (await social.api.post(f"/v1/posts/{uuid4()}/count", json={"text": ""})).status_code == 404
