"""Posts with a lost answer, where clocks differ, servers are late, accounts are refused, and lists are long: never two."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fakes import Fake, Kind, Reply, Request, as_json
from fakes.channels.linkedin import FakeLinkedIn
from fakes.channels.mastodon import FakeMastodon
from fakes.found import CASES
from fakes.serving.cases import ChannelCase
from fakes.serving.fake import route
from receipts import AccountClient, AccountResponse, EffectInDoubt, EffectPerformed
from services.social.tests.channels.conftest import LINK, Sent, World, composed

BY_NAME = {case.name: case for case in CASES}
MASTODON, X, PERSON = BY_NAME["mastodon that keeps none"], BY_NAME["x"], BY_NAME["linkedin person"]
_LISTED = {"mastodon", "x", "linkedin", "instagram", "threads"}
BY_TIME = [case for case in CASES if case.channel in _LISTED and not case.doubtful]
"""Those that look a lost post up among the latest of its account."""
_POST: dict[str, str] = {
    "mastodon": "POST /api/v1/statuses",
    "x": "POST /2/tweets",
    "linkedin": "POST /rest/posts",
    "instagram": "POST */media_publish",
    "threads": "POST */threads_publish",
}
by_time = pytest.mark.parametrize("case", BY_TIME, ids=lambda case: case.name)


async def lose(world: World, case: ChannelCase, fake: Fake, fault: Kind = "reset_after", **more: Any) -> Sent:
    return await world.send(case, fault=fault, match=_POST[case.channel], fake=fake, **more)


# -- clocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.extended
@pytest.mark.parametrize("minutes", [-45, -15, -8, 8, 15, 45])
@by_time
async def test_clocks_that_differ_make_no_second_post(case: ChannelCase, minutes: int, world: World) -> None:
    fake = case.fake()
    fake.set_clock(timedelta(minutes=minutes))
    sent = await lose(world, case, fake)
    assert isinstance(sent.result, EffectPerformed), sent.result
    assert sent.counted[0] == 1


@pytest.mark.extended
@pytest.mark.parametrize("minutes", [-15, 15])
@by_time
async def test_what_never_arrived_is_sent_again_though_clocks_differ(
    case: ChannelCase, minutes: int, world: World
) -> None:
    fake = case.fake()
    fake.set_clock(timedelta(minutes=minutes))
    sent = await lose(world, case, fake, "reset_before")
    assert isinstance(sent.result, EffectPerformed), sent.result
    assert sent.counted[0] == 1


@pytest.mark.extended
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.parametrize("case", [MASTODON, X, BY_NAME["linkedin organisation"]], ids=lambda case: case.name)
async def test_a_server_that_is_hours_off_or_tells_no_time_proves_nothing(
    case: ChannelCase, fault: Kind, world: World
) -> None:
    off, silent = case.fake(), case.fake()
    off.set_clock(timedelta(hours=-7))
    silent.tells_time = False
    for fake in (off, silent):
        sent = await lose(world, case, fake, fault)
        assert sent.counted[0] == (fault == "reset_after")
        if sent.counted[0] and fake is silent:
            assert isinstance(sent.result, EffectPerformed)  # it was found
        elif not sent.counted[0]:
            assert isinstance(sent.result, EffectInDoubt)
            assert "look whether it is there" in sent.result.detail


async def test_a_server_whose_clock_is_put_right_meanwhile_is_not_believed(world: World) -> None:
    """By the time that it is looked up, its clock tells nothing of how it was when it made the post."""
    fake = FakeMastodon(keeps_keys=False)
    answer = fake.answer

    def put_right(request: Request) -> Reply:
        if request.path.endswith("/verify_credentials"):
            fake.set_clock(timedelta())
        return answer(request)

    fake.set_clock(timedelta(minutes=-15))
    fake.answer = put_right  # type: ignore[method-assign]
    sent = await lose(world, MASTODON, fake)
    assert isinstance(sent.result, EffectInDoubt)
    assert "shortly before" in sent.result.detail
    assert sent.counted == (1, 0)


async def test_a_duplicate_from_about_the_same_time_is_in_doubt(world: World) -> None:
    """What LinkedIn has already may be ours, if its clock was set meanwhile."""
    fake = FakeLinkedIn()
    fake.set_clock(timedelta(minutes=-20))
    post = composed(BY_NAME["linkedin organisation"])
    await world.send(BY_NAME["linkedin organisation"], post, fake=fake)
    fake.set_clock(timedelta())
    again = await world.send(BY_NAME["linkedin organisation"], post, fake=fake)
    assert isinstance(again.result, EffectInDoubt)


# -- late servers --------------------------------------------------------------------------------------------------------


@pytest.mark.extended
@pytest.mark.parametrize("seconds", [45.0, 120.0])
@by_time
async def test_a_post_that_is_made_after_its_answer_was_lost_is_one(
    case: ChannelCase, seconds: float, world: World
) -> None:
    sent = await lose(world, case, case.fake(), "reset_before", commits_after=seconds)
    assert sent.counted[0] == 1
    assert isinstance(sent.result, EffectPerformed)


# -- refused after a lost answer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (BY_NAME["webhook"], "POST /hook"),
        (BY_NAME["bluesky"], "POST /xrpc/com.atproto.repo.putRecord"),
        (PERSON, "POST /rest/posts"),
        (MASTODON, "POST /api/v1/statuses"),
        (X, "POST /2/tweets"),
        (BY_NAME["instagram"], "POST */media_publish"),
    ],
    ids=lambda each: each.name if isinstance(each, ChannelCase) else "",
)
async def test_what_is_there_has_not_failed_because_the_account_is_refused_since(
    case: ChannelCase, match: str, world: World
) -> None:
    fake = case.fake()
    answer = fake.answer

    def refusing(request: Request) -> Reply:
        """From the first answer that is lost on, the account is locked."""
        if fake.accepted:
            return fake.expired(request)
        return answer(request)

    fake.answer = refusing  # type: ignore[method-assign]
    sent = await world.send(case, fault="reset_after", match=match, fake=fake)
    assert isinstance(sent.result, EffectInDoubt), sent.result
    assert sent.counted == (1, 0)


@pytest.mark.parametrize("status", [302, 303])
@pytest.mark.parametrize(
    "case", [MASTODON, X, BY_NAME["webhook"], BY_NAME["bluesky"]], ids=lambda case: case.name
)
async def test_a_redirect_after_a_post_is_no_refusal(case: ChannelCase, status: int, world: World) -> None:
    class Redirecting(type(case.fake())):  # type: ignore[misc]
        def failed(self, request: Request, _: int) -> Reply:
            return as_json({}, status, {"location": f"{self.url}/web"})

    fake = case.fake()
    fake.__class__ = Redirecting
    sent = await world.send(case, fault="error_after", match=case.sends[-1], fake=fake)
    assert isinstance(sent.result, EffectPerformed), sent.result
    assert sent.counted == (1, 0)


# -- long lists ----------------------------------------------------------------------------------------------------------


class Unbounded(FakeMastodon):
    """Lists all that it has, however few are asked for; what the gateway cuts off is cut off here. `honours`: where the page begins."""

    def __init__(self, others: int, *, honours: bool = True) -> None:
        super().__init__(keeps_keys=False)
        self.others = others
        self.honours = honours

    @route("GET", "/api/v1/accounts/{account}/statuses")
    def list_posts(self, request: Request, account: str) -> Reply:
        while len(self.statuses) < self.others + len(self.accepted):
            made = self.now().isoformat()
            number = str(1_000 + len(self.statuses))
            other = {"id": number, "url": "u", "content": "other", "created_at": made}
            self.statuses.insert(0, other)
        below = int(request.query.get("max_id", "1000000")) if self.honours else 1_000_000
        return as_json([each for each in self.statuses if int(each["id"]) < below])


@pytest.mark.parametrize("honours", [True, False])
async def test_a_list_that_is_cut_off_is_read_on(
    world: World, honours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = AccountClient.request

    async def cut(self: AccountClient, method: str, path: str, **more: Any) -> AccountResponse:
        """As the gateway gives what is too long: the items that are whole."""
        answer = await request(self, method, path, **more)
        if not isinstance(answer.json, list) or len(answer.json) <= 100:
            return answer
        return replace(answer, json=None, whole_items=answer.json[:100], truncated=True)

    monkeypatch.setattr(AccountClient, "request", cut)
    sent = await lose(world, MASTODON, Unbounded(250, honours=honours))
    assert isinstance(sent.result, EffectPerformed if honours else EffectInDoubt), sent.result
    assert sent.counted == (1, 0)


async def test_a_mastodon_without_our_post_is_read_to_the_end(world: World) -> None:
    sent = await lose(world, MASTODON, Unbounded(60), "reset_before")
    assert isinstance(sent.result, EffectPerformed)
    assert sent.counted == (1, 0)
    assert json.dumps(sent.result.remote)


# -- rows that the database has lost -----------------------------------------------------------------------------------


@pytest.mark.extended
@pytest.mark.parametrize("change", ["nothing", "another link", "edited"])
@by_time
async def test_a_post_whose_receipt_is_lost_is_not_made_again_whatever_was_sent(
    case: ChannelCase, change: str, world: World
) -> None:
    """What is known of it now is not certainly what was sent: a link was short, or a person has edited the text."""
    fake = case.fake()
    if isinstance(fake, FakeMastodon):
        fake.keeps_keys = False
    post = composed(case)
    changes: dict[str, Any] = {}
    if change == "another link":
        short = "https://example.org/s/abc12345"
        changes = {"text": post.text.replace(LINK, short), "link": short}
    elif change == "edited":
        changes = {"text": post.text.replace("Water just off the boil", "Use water just off the boil")}
    first = await world.send(case, replace(post, **changes), fake=fake)
    assert isinstance(first.result, EffectPerformed)
    begun = datetime.now(UTC) - timedelta(minutes=1)
    again = await world.send(case, post, fake=fake, begun=begun, may_be_there=True)
    assert isinstance(again.result, EffectPerformed | EffectInDoubt), again.result
    assert again.counted[0] == 1


@pytest.mark.extended
@by_time
async def test_a_post_whose_receipt_may_be_lost_is_made_where_none_is_like_it(
    case: ChannelCase, world: World
) -> None:
    fake = case.fake()
    await world.send(case, composed(case, "Cold brew\n\nTwelve hours.", link=None), fake=fake)
    begun = datetime.now(UTC) - timedelta(minutes=1)
    again = await world.send(case, fake=fake, begun=begun, may_be_there=True)
    assert isinstance(again.result, EffectPerformed | EffectInDoubt), again.result
    assert again.counted[0] == (2 if isinstance(again.result, EffectPerformed) else 1)
