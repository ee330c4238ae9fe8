"""Pictures that Instagram, Threads and Slack fetch by themselves: what becomes of a post when they say that they cannot."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fakes import Fake
from fakes.channels.instagram import FakeInstagram
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.channels.threads import FakeThreads
from fakes.found import CASES
from fakes.serving.cases import ChannelCase
from receipts import EffectPerformed, EffectRefused, NotSent, Refused
from services.social.tests.channels.conftest import PICTURE, Cover, NoCover, Sent, World, composed
from social.channels import graph

BY_NAME = {case.name: case for case in CASES}
INSTAGRAM, THREADS, SLACK = BY_NAME["instagram"], BY_NAME["threads"], BY_NAME["slack"]
TELEGRAM = BY_NAME["telegram with a picture"]
MORE_THAN_ATTEMPTS = 6
AGAIN = timedelta(seconds=30)


def away() -> NotSent:
    return NotSent("publisher", "the publisher does not answer", datetime.now(UTC) + AGAIN)


class Site(Cover):
    """The publisher: each question gets the next answer of `answers`, and after the last the picture is there."""

    def __init__(self, answers: Sequence[Exception | None] = ()) -> None:
        self._answers = list(answers)

    @property
    def is_open(self) -> bool:
        return not any(self._answers)

    async def check(self, url: str) -> None:
        answer = self._answers.pop(0) if self._answers else None
        if answer is not None:
            raise answer


class GoneBeforeTheFetch(Site):
    """Away from just after the first question on, for some more."""

    def __init__(self) -> None:
        super().__init__([None, *(away() for _ in range(MORE_THAN_ATTEMPTS))])


def fetching(fake: Any, site: Site) -> Any:
    """Fetches pictures while the site is open."""
    known = fake.media_type if hasattr(fake, "media_type") else None
    fake.media_type = lambda url: known(url) if known and site.is_open else None
    fake.can_fetch = lambda _: site.is_open
    return fake


class Stuck(FakeInstagram):
    """Keeps containers in progress until the site is open, or says that they came to nothing until then."""

    def __init__(self, site: Site, status: str) -> None:
        super().__init__(polls=0)
        self._site = site
        self._status = status

    def status_of(self, container: Any) -> str:
        if self._site.is_open:
            return super().status_of(container)
        if self._status == "ERROR":
            container.status = "ERROR"
        return self._status


def _posts(sent: Sent) -> int:
    return sum(each.kind == "post" for each in sent.fake.accepted)


@pytest.mark.parametrize(
    ("case", "fake"),
    [(INSTAGRAM, FakeInstagram(polls=0)), (THREADS, FakeThreads(polls=0)), (SLACK, FakeSlack())],
    ids=["instagram", "threads", "slack"],
)
async def test_a_fetch_that_fails_because_the_publisher_went_away_counts_no_attempt(
    world: World, case: ChannelCase, fake: Fake
) -> None:
    site = GoneBeforeTheFetch()
    sent = await world.send(case, fake=fetching(fake, site), pictures=site)
    assert isinstance(sent.result, EffectPerformed), sent.result
    assert (len(sent.waits), _posts(sent)) == (MORE_THAN_ATTEMPTS, 1)
    assert max(sent.waits) <= AGAIN
    assert sent.fake.accepted[0].more["pictures"]


@pytest.mark.parametrize("status", ["ERROR", "IN_PROGRESS"])
async def test_a_container_whose_picture_cannot_be_fetched_waits_for_the_publisher(
    world: World, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "_POLLS", (0.0,))
    site = GoneBeforeTheFetch()
    sent = await world.send(INSTAGRAM, fake=Stuck(site, status), pictures=site)
    assert isinstance(sent.result, EffectPerformed), sent.result
    assert (len(sent.waits), _posts(sent)) == (MORE_THAN_ATTEMPTS, 1)


async def test_while_the_publisher_is_away_nothing_is_asked_to_fetch(world: World) -> None:
    for case, fake in (
        (INSTAGRAM, FakeInstagram(polls=0)),
        (THREADS, FakeThreads(polls=0)),
        (SLACK, FakeSlack()),
        (TELEGRAM, FakeTelegram()),
    ):
        sent = await world.send(case, fake=fake, pictures=NoCover(away()))
        assert (sent.result, sent.fake.requests) == (None, []), case.name
        assert sent.waits
        assert all(each > timedelta(seconds=20) for each in sent.waits)


@pytest.mark.parametrize(
    ("problem", "asked"),
    [
        (NotSent("picture", "the publisher answered 404"), 12),
        (NotSent("picture", "the publisher answered 500"), 12),
        (None, 12),
        (Refused("no_picture", "the publisher answered 410: it was removed for good"), 1),
    ],
    ids=["404", "500", "served", "gone"],
)
async def test_a_picture_that_is_really_not_there_costs_attempts_or_is_refused(
    world: World, problem: Exception | None, asked: int
) -> None:
    """Nothing waits for ever for a picture that the publisher lacks, or that the platform cannot reach though it is served."""
    fake = FakeInstagram(polls=0)
    fake.media_type = lambda _: None
    pictures = Cover() if problem is None else NoCover(problem)
    sent = await world.send(INSTAGRAM, fake=fake, pictures=pictures)
    assert sent.waits == []
    assert len(fake.requests) == asked
    if asked == 1:
        assert isinstance(sent.result, EffectRefused)
        assert sent.result.reason == "picture"
        assert "removed for good" in sent.result.detail


@pytest.mark.parametrize("kind", ["image/webp", "text/html"])
async def test_a_picture_of_a_wrong_type_is_refused_at_once(world: World, kind: str) -> None:
    fake = FakeInstagram(polls=0)
    fake.media_type = lambda _: kind
    sent = await world.send(INSTAGRAM, fake=fake)
    assert isinstance(sent.result, EffectRefused)
    assert (sent.result.reason, len(fake.requests)) == ("picture", 1)


async def test_a_comment_whose_container_comes_to_nothing_is_not_refused_over_a_picture(world: World) -> None:
    class Broken(FakeThreads):
        def status_of(self, container: Any) -> str:
            if "reply_to_id" in container.given:
                container.status = "ERROR"
            return super().status_of(container)

    sent = await world.send(BY_NAME["threads with a comment"], fake=Broken(polls=0))
    assert isinstance(sent.result, EffectRefused)
    assert (sent.result.reason, sent.counted) == ("refused", (1, 0))


async def test_telegram_has_the_bytes_of_a_picture_and_needs_no_address(world: World) -> None:
    telegram = FakeTelegram()
    telegram.can_fetch = lambda _: False
    sent = await world.send(TELEGRAM, fake=telegram)
    assert isinstance(sent.result, EffectPerformed)
    [message] = telegram.accepted
    assert message.more["pictures"] == [await Cover().read(PICTURE.url)]
    assert "Water just off the boil" in message.text


async def test_a_message_on_telegram_goes_without_a_picture_that_is_gone_for_good(world: World) -> None:
    gone = NoCover(Refused("no_picture", "it was removed for good"))
    post = composed(TELEGRAM, "Brew <well>", placement="none")
    sent = await world.send(TELEGRAM, post, pictures=gone)
    assert isinstance(sent.result, EffectPerformed)
    [message] = sent.fake.accepted
    assert (message.text, message.more["pictures"]) == ("Brew <well>", [])
    assert message.more["preview"] == {"is_disabled": True}
