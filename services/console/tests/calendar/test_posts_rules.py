"""Rules for posts on each channel, and how posts were received, beside real services."""

import re
from typing import Any

import httpx
import pytest

RULES = "/b/acme/posts/rules"
REACH = "/b/acme/posts/reach"
WANTED = {"do": "save", "link": "none", "hashtags": "#HomeCoffee, #Moka", "most_hashtags": "3", "reach": "1"}


async def press(person: httpx.AsyncClient, once: str, **form: str) -> str:
    answer = await person.post(f"{RULES}/mastodon", data={"once": once, **form}, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.extended
async def test_rules_are_set_taken_back_and_removed(planned: Any, person: httpx.AsyncClient) -> None:
    assert f'href="{RULES}"' in (await person.get("/b/acme/posts")).text
    assert "Rules of this brand" not in (await person.get(RULES)).text
    for _ in range(2):
        told = await press(person, "a", **WANTED)
        assert "The rules hold for new posts." in told
    found = await planned.social.get_channel_rules("acme", "mastodon")
    assert (found["link"], found["hashtags"], found["most_hashtags"], found["reach"]) == (
        "none",
        ["HomeCoffee", "Moka"],
        3,
        True,
    )
    assert 'value="#HomeCoffee #Moka"' in told

    removed = await press(person, "b", do="remove")
    assert "as usual on that channel again" in removed
    assert not (await planned.social.get_channel_rules("acme", "mastodon"))["is_set"]
    undo = re.search(r'action="(/undo/[0-9a-f-]+)"', removed)
    assert undo
    await person.post(undo[1], data={"once": "c"})
    assert (await planned.social.get_channel_rules("acme", "mastodon"))["hashtags"] == ["HomeCoffee", "Moka"]

    refused = await person.post(
        f"{RULES}/mastodon", data={"once": "d", **WANTED, "hashtags": "#<b>", "most_hashtags": "many"}
    )
    assert refused.status_code == 422
    assert 'value="#&lt;b&gt;"' in refused.text
    unknown = await person.post(f"{RULES}/nowhere", data={"once": "e", **WANTED})
    assert unknown.status_code == 404


async def test_of_two_who_set_the_same_rules_the_second_is_told(
    planned: Any, person: httpx.AsyncClient
) -> None:
    form = (await person.get(RULES)).text.partition(f'action="{RULES}/mastodon"')[2]
    seen = {"seen": form.partition('name="seen" value="')[2].partition('"')[0]}
    await planned.social.set_channel_rules("acme", "mastodon", hashtags=["Theirs"])
    refused = await person.post(f"{RULES}/mastodon", data={"once": "f", **WANTED, **seen})
    assert refused.status_code == 409
    assert "Another person changed this meanwhile" in refused.text
    assert f'value="{WANTED["hashtags"]}"' in refused.text
    assert (await planned.social.get_channel_rules("acme", "mastodon"))["hashtags"] == ["Theirs"]
    form = refused.text.partition(f'action="{RULES}/mastodon"')[2]
    seen = {"seen": form.partition('name="seen" value="')[2].partition('"')[0]}
    assert "The rules hold for new posts." in await press(person, "g", **WANTED, **seen)


@pytest.mark.extended
async def test_who_only_looks_sees_the_rules_and_changes_none(
    planned: Any, viewer: httpx.AsyncClient
) -> None:
    shown = (await viewer.get(RULES)).text
    assert "Where the link stands" in shown
    assert f'action="{RULES}' not in shown
    assert "the right “operate”, which your role (viewer) does not have" in shown
    assert (await viewer.post(f"{RULES}/mastodon", data={"once": "v", **WANTED})).status_code == 403
    assert not (await planned.social.get_channel_rules("acme", "mastodon"))["is_set"]


@pytest.mark.extended
async def test_the_newest_numbers_of_posts_are_shown(planned: Any, viewer: httpx.AsyncClient) -> None:
    assert "No post has numbers yet." in (await viewer.get(REACH)).text
    await planned.sql(
        "social",
        "update channel_posts set state = 'posted', posted_at = now() - interval '2 days', post_url = 'javascript:1',"
        " has_metrics = true where post_id = $1::uuid",
        planned.post,
    )
    await planned.social.set_channel_rules("acme", "mastodon", reach=True)
    await planned.sql(
        "social",
        "insert into reach_looks (post_id, brand_slug, account, due_at)"
        " select post_id, brand_slug, account, now() + interval '1 day' from channel_posts where post_id = $1::uuid"
        " on conflict do nothing",
        planned.post,
    )
    for day, likes in ((2, 1), (1, 1234)):
        await planned.sql(
            "social",
            "insert into reach (post_id, day, likes, shares, replies)"
            " values ($1::uuid, current_date - $2::int, $3, 7, null)",
            planned.post,
            day,
            likes,
        )
    shown = (await viewer.get(REACH)).text
    assert f'href="/b/acme/posts/{planned.post}"' in shown
    assert "<td>1,234</td><td>7</td><td>\N{EN DASH}</td>" in shown
    assert "javascript:" not in shown
