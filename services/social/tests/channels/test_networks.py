"""Special rules of X, LinkedIn, Instagram and Threads: pictures with words for them, links beside the text, and lost posts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fakes import AcceptedItem, Fake, Reply, Request, as_json
from fakes.channels._graph import given, graph_error
from fakes.channels.instagram import FakeInstagram
from fakes.channels.linkedin import FakeLinkedIn, _seen
from fakes.channels.threads import FakeThreads
from fakes.channels.x import FakeX
from fakes.found import CASES
from fakes.serving.cases import ChannelCase
from receipts import EffectInDoubt, EffectPerformed, EffectRefused, NotSent, Refused
from services.social.tests.channels.conftest import LINK, NOW, PICTURE, NoCover, Sent, World, composed
from social.channels import CHANNELS, lost
from social.channels.linkedin import escaped
from social.channels.lost import confirmed_id
from social.domain import PostRefusal
from social.sending.domain import but_out

BY_NAME = {case.name: case for case in CASES}
X, X_COMMENTED = BY_NAME["x"], BY_NAME["x with a comment"]
ORGANISATION, PERSON = BY_NAME["linkedin organisation"], BY_NAME["linkedin person"]
INSTAGRAM, THREADS, THREADS_COMMENTED = (
    BY_NAME["instagram"],
    BY_NAME["threads"],
    BY_NAME["threads with a comment"],
)


def only(sent: Sent) -> AcceptedItem:
    (accepted,) = [each for each in sent.fake.accepted if each.kind == "post"]
    return accepted


def refusal(sent: Sent) -> str:
    assert isinstance(sent.result, EffectRefused), sent.result
    return sent.result.reason


# -- pictures ----------------------------------------------------------------------------------------------------------


async def test_pictures_say_what_is_to_be_seen(world: World) -> None:
    assert only(await world.send(X)).more["pictures"] == [PICTURE.alt]
    for case in (INSTAGRAM, THREADS):
        shown = only(await world.send(case)).more
        assert shown["alt"] == PICTURE.alt
        assert shown["pictures"] == [PICTURE.jpeg_url if case is INSTAGRAM else PICTURE.url]
    card = only(await world.send(ORGANISATION)).more["content"]["article"]
    assert (card["source"], card["title"], card["thumbnailAltText"]) == (
        LINK,
        "Pour-over coffee",
        PICTURE.alt,
    )
    without_link = composed(ORGANISATION, "Water just off the boil", placement="none")
    assert (
        only(await world.send(ORGANISATION, without_link)).more["content"]["media"]["altText"] == PICTURE.alt
    )


@pytest.mark.parametrize("case", [X, ORGANISATION, BY_NAME["discord"]], ids=lambda case: case.name)
async def test_a_picture_that_cannot_be_had_keeps_no_post(case: ChannelCase, world: World) -> None:
    for_good = await world.send(case, pictures=NoCover(Refused("no_picture", "it is gone")))
    assert isinstance(for_good.result, EffectPerformed)
    for_now = await world.send(case, pictures=NoCover(NotSent("picture", "the publisher does not answer")))
    assert (for_now.result, for_now.fake.accepted) == (None, ())


async def test_instagram_takes_jpeg_and_no_post_without(world: World) -> None:
    png = composed(INSTAGRAM, pictures=())
    assert refusal(await world.send(INSTAGRAM, png)) == "picture"


async def test_a_container_that_takes_its_time_is_waited_for(world: World) -> None:
    sent = await world.send(INSTAGRAM, fake=FakeInstagram(polls=1))
    assert isinstance(sent.result, EffectPerformed)
    assert sent.waits == []


async def test_a_container_that_has_expired_is_made_again(world: World) -> None:
    class Slow(FakeInstagram):
        """A day goes by before it is asked to publish."""

        days = 0

        def status_of(self, container: Any) -> str:
            if len(self.containers) == 1:
                container.made -= timedelta(days=1)
            return super().status_of(container)

    sent = await world.send(INSTAGRAM, fake=Slow(polls=0))
    assert isinstance(sent.result, EffectPerformed)
    assert only(sent).more["container"] == list(sent.fake.containers)[-1]  # type: ignore[attr-defined]
    assert len(sent.fake.containers) == 2  # type: ignore[attr-defined]


# -- the link beside the text ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [X_COMMENTED, THREADS_COMMENTED, BY_NAME["linkedin organisation, with a comment"]],
    ids=lambda case: case.name,
)
async def test_the_link_answers_the_post_that_it_belongs_to(case: ChannelCase, world: World) -> None:
    sent = await world.send(case)
    post, comment = sent.fake.accepted
    assert (comment.kind, comment.more["answers"]) == ("comment", post.id)
    assert LINK in comment.text
    assert LINK not in post.text


# -- the same text again -----------------------------------------------------------------------------------------------


async def test_what_was_posted_before_we_began_is_not_ours(world: World) -> None:
    """X and LinkedIn refuse the text of an earlier post; that it stands there does not mean that this one went out."""
    long_ago = NOW - timedelta(days=2)
    x, linkedin = FakeX(), FakeLinkedIn()
    for case, fake in ((X, x), (ORGANISATION, linkedin)):
        fake.now = lambda: long_ago
        post = composed(case)
        assert isinstance((await world.send(case, post, fake=fake, begun=long_ago)).result, EffectPerformed)
        fake.now = lambda: datetime.now(UTC)
        again = await world.send(case, post, fake=fake)
        assert refusal(again) == "duplicate"
        assert len(fake.accepted) == 1


def crowded(fake: Fake, listing: str, number: int) -> Fake:
    """With so many others' posts by the same account behind the first one, by the time somebody looks."""
    answer = fake.answer

    def crowding(request: Request) -> Reply:
        if f"{request.method} {request.path}".endswith(listing) and len(fake.accepted) == 1:
            mine = fake.accepted[0]
            for place in range(1, number + 1):
                told, _, count = mine.id.rpartition(":")
                ours = {"commentary": "other"} if "commentary" in mine.more else {}
                fake.accept(
                    replace(
                        mine,
                        id=f"{told}:{int(count) + place}".lstrip(":"),
                        text="other",
                        more={**mine.more, **ours},
                    )
                )
        return answer(request)

    fake.answer = crowding  # type: ignore[method-assign]
    return fake


@pytest.mark.parametrize(
    ("case", "match", "listing", "others"),
    [
        (X, "POST /2/tweets", "/tweets", 230),
        (ORGANISATION, "POST /rest/posts", "GET /rest/posts", 130),
        (INSTAGRAM, "POST */media_publish", "GET /v23.0/17841405309211844/media", 95),
        (THREADS, "POST */threads_publish", "/threads", 130),
    ],
    ids=lambda each: each.name if isinstance(each, ChannelCase) else "",
)
async def test_a_lost_post_is_found_behind_many_others(
    world: World, case: ChannelCase, match: str, listing: str, others: int
) -> None:
    fake = crowded(case.fake(), listing, others)
    sent = await world.send(case, fault="reset_after", match=match, fake=fake)
    assert isinstance(sent.result, EffectPerformed), sent.result
    assert sent.counted == (1 + others, 0)
    assert sent.result.remote["id"] == fake.accepted[0].id
    assert sent.result.remote["url"]


@pytest.mark.extended
@pytest.mark.parametrize("case", [INSTAGRAM, THREADS], ids=lambda case: case.name)
async def test_a_post_counts_as_posted_without_its_address_if_that_cannot_be_asked_for(
    world: World, case: ChannelCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost, "_READ_AGAIN_AFTER", (0.0, 0.0))
    fake = case.fake()
    answer = fake.answer
    fake.answer = lambda request: (  # type: ignore[method-assign]
        fake.failed(request, 503) if request.query.get("fields") == "permalink" else answer(request)
    )
    soon = await world.send(case, fake=fake)
    assert (soon.result, soon.counted) == (None, (1, 0))
    assert max(soon.waits) <= timedelta(seconds=10)
    late = await world.send(case, fake=fake, begun=NOW - timedelta(minutes=20))
    assert isinstance(late.result, EffectPerformed)
    assert late.result.remote["id"] == fake.accepted[1].id


async def test_a_lost_post_of_a_person_is_in_doubt_when_linkedin_may_have_forgotten_it(world: World) -> None:
    begun = NOW - timedelta(hours=2)
    sent = await world.send(PERSON, fault="reset_after", match="POST /rest/posts", begun=begun)
    assert isinstance(sent.result, EffectInDoubt)
    assert sent.counted == (1, 0)


async def test_linkedin_tells_hashtags_its_own_way(world: World) -> None:
    class Templated(FakeLinkedIn):
        def _shown(self, post: AcceptedItem) -> dict[str, Any]:
            shown = super()._shown(post)
            return shown | {"commentary": shown["commentary"].replace("#Coffee", r"{hashtag|\#|Coffee}")}

    post = composed(ORGANISATION, "Brew [well] #Coffee")
    sent = await world.send(
        ORGANISATION, post, fault="cut_after", match="POST /rest/posts", fake=Templated(compares=False)
    )
    assert isinstance(sent.result, EffectPerformed)
    assert sent.counted == (1, 0)


# -- what they refuse ----------------------------------------------------------------------------------------------------


async def test_refusals_have_reasons_that_say_what_to_do(world: World) -> None:
    x = FakeX()
    x.credits_left = 0
    linkedin = FakeLinkedIn(versions=frozenset({"203001"}))
    instagram = FakeInstagram(polls=0)
    instagram.media_type = lambda _: "image/webp"
    for case, fake, reason in (
        (X, x, "no_credits"),
        (ORGANISATION, linkedin, "version_retired"),
        (INSTAGRAM, instagram, "picture"),
    ):
        assert refusal(await world.send(case, fake=fake)) == reason
        assert reason in CHANNELS[case.channel].network.errors


async def test_a_days_limit_is_waited_for(world: World) -> None:
    class Tired(FakeX):
        def limited(self, request: Request) -> Reply:
            tomorrow = str(int((self.now() + timedelta(hours=9)).timestamp()))
            told = {"x-user-limit-24hour-remaining": "0", "x-user-limit-24hour-reset": tomorrow}
            return as_json({"title": "Too Many Requests"}, 429, told | {"x-rate-limit-reset": "1"})

    sent = await world.send(X, fault="limited", match="POST /2/tweets", fake=Tired(compares=False))
    assert isinstance(sent.result, EffectPerformed)
    assert timedelta(hours=8) < sent.waits[0] <= timedelta(hours=9)

    full = FakeThreads(polls=0)
    full.quota = 0
    sent = await world.send(THREADS, fake=full)
    assert (sent.result, sent.counted) == (None, (0, 0))
    assert min(sent.waits) > timedelta(minutes=59)


@pytest.mark.parametrize("text", ["a|b", "{x}", "@a", "[b](c)", "<d>", "*e* _f_ ~g~", "\\", "# h", "#i #2"])
def test_linkedin_shows_what_was_written(text: str) -> None:
    assert _seen(escaped(text)) == text
    assert CHANNELS["linkedin"].limits[0].count(text) == len(escaped(text))


# -- what a person confirms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("remote", "number"),
    [
        ({"id": "7", "url": "https://x.com/acme/status/1"}, "7"),
        ({"url": "https://x.com/acme/status/1990000000000000001?s=20"}, "1990000000000000001"),
        ({"url": "https://x.com/acme"}, None),
    ],
)
def test_what_answers_a_post_finds_it_by_the_address_that_a_person_told(
    remote: dict[str, str], number: str | None
) -> None:
    pattern = r"(?<=/status/)\d+"
    if number is not None:
        assert confirmed_id(remote, pattern) == number
    else:
        with pytest.raises(Refused, match="by hand"):
            confirmed_id(remote, pattern)


async def test_a_comment_that_is_refused_says_that_its_post_is_out(world: World) -> None:
    x = FakeX()
    x.credits_left = 1
    sent = await world.send(X_COMMENTED, composed(X_COMMENTED, pictures=()), fake=x)
    assert isinstance(sent.result, EffectRefused)
    assert (sent.counted, sent.result.reason) == ((1, 0), "no_credits")
    told = but_out(PostRefusal("no_credits", sent.result.detail), sent.result.remote["url"])
    assert told.detail.startswith(
        f"the post is out at https://x.com/i/web/status/{x.accepted[0].id}, and what"
    )
    assert but_out(told, None) == told


async def test_a_refused_comment_on_threads_leaves_the_address_of_its_post(world: World) -> None:
    fake = FakeThreads(polls=0)
    answer = fake.answer
    fake.answer = lambda request: (  # type: ignore[method-assign]
        graph_error("Not allowed", 10) if "reply_to_id" in given(request) else answer(request)
    )
    sent = await world.send(THREADS_COMMENTED, fake=fake)
    assert isinstance(sent.result, EffectRefused)
    assert (sent.counted, sent.result.remote["url"]) == ((1, 0), fake.accepted[0].url)
