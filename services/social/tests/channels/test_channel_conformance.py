"""Rules for every channel, after any fault on the way: one post, or none and a visible doubt; never two."""

import asyncio
import json
from datetime import timedelta

import pytest

from fakes import Kind
from fakes.found import CASES
from fakes.serving.cases import ChannelCase
from fakes.serving.faults import KINDS
from receipts import EffectInDoubt, EffectPerformed, EffectRefused
from services.social.tests.channels.conftest import NOW, Cover, Sent, World, composed
from social.channels import CHANNELS

# What half an answer comes to, receipts are tried with: for a channel it is none.
FAULTS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "cut_after")
UNANSWERED: frozenset[Kind] = frozenset(FAULTS) - {"limited", "expired"}
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def whole(case: ChannelCase) -> tuple[int, int]:
    """(posts, comments) of a post that went out."""
    return 1, int(case.placement == "first_comment")


def problem(case: ChannelCase, match: str, fault: Kind, end: Sent) -> str | None:
    """The fault in its outcome."""
    most, counted = whole(case), end.counted
    if end.refused or not end.struck:
        return f"not let through by the gateway: {end.refused}" if end.refused else "the fault did not strike"
    if counted[0] > most[0] or counted[1] > most[1]:
        return f"posted twice: {counted}"
    match end.result:
        case EffectRefused(reason="needs_reconnecting") if fault == "expired" and counted < most:
            return None
        case EffectInDoubt(detail=str(detail)) if match in case.doubtful and fault in UNANSWERED and detail:
            return None
        case EffectPerformed() if counted == most and fault != "expired":
            return None
        case other:
            return f"{other} with {counted}"


@pytest.mark.extended
@every_case
async def test_one_post_or_none_and_in_doubt(case: ChannelCase, world: World) -> None:
    tried = [(match, fault) for match in case.sends for fault in FAULTS]
    ends = await asyncio.gather(*(world.send(case, fault=fault, match=match) for match, fault in tried))
    found = {
        f"{fault} at {match}": problem(case, match, fault, end)
        for (match, fault), end in zip(tried, ends, strict=True)
    }
    assert {key: why for key, why in found.items() if why is not None} == {}


async def test_a_post_goes_out_as_it_was_written_and_tells_where_it_is(world: World) -> None:
    for case in CASES:
        sent = await world.send(case)
        assert isinstance(sent.result, EffectPerformed), (case.name, sent.result)
        assert sent.counted == whole(case), case.name
        shown = sent.fake.accepted[0]
        assert " ".join(composed(case).text.split()) == " ".join(shown.text.split()), case.name
        assert shown.url in {None, sent.result.remote.get("url")}, case.name


@pytest.mark.extended
async def test_a_text_that_is_refused_is_not_tried_again(world: World) -> None:
    for case in CASES:
        sent = await world.send(case, composed(case, "x" * 50_000))
        assert isinstance(sent.result, EffectRefused), (case.name, sent.result)
        assert sent.result.reason in {"text_too_long", "refused"}, case.name
        assert (sent.counted, sent.waits) == ((0, 0), []), case.name


@pytest.mark.extended
async def test_nobody_is_called_and_nothing_is_taken_for_markup(world: World) -> None:
    """What stands in quoted text is to be read there as it was written."""
    text = "<!here> @everyone <b>3 < 4</b> & *so* _it_ goes `x` {y} | [z](https://example.org/z) \\ # ~ 5 > 4"
    for case in CASES:
        sent = await world.send(case, composed(case, text))
        assert isinstance(sent.result, EffectPerformed), (case.name, sent.result)
        shown = sent.fake.accepted[0]
        assert (shown.text, shown.more.get("pings", [])) == (text, []), case.name


async def test_it_comes_again_when_it_was_told_to(world: World) -> None:
    told = {"x": 2, "telegram": 3, "discord": 2, "slack": 1, "instagram": 900, "threads": 900}
    for case in CASES:
        if case.channel not in told:
            continue
        sent = await world.send(case, fault="limited", match=case.sends[-1])
        assert isinstance(sent.result, EffectPerformed), (case.name, sent.result)
        (wait,) = sent.waits
        seconds = told[case.channel]
        # A busy machine comes to it late; so much is left of the longest ones all the same.
        assert timedelta(seconds=seconds - 60) < wait <= timedelta(seconds=seconds), case.name


@every_case
def test_what_is_prepared_is_the_same_each_time_and_json(case: ChannelCase) -> None:
    sending = CHANNELS[case.channel].sending
    assert sending is not None
    post = composed(case)
    prepared = sending.prepare(post, NOW)
    assert json.loads(json.dumps(prepared)) == prepared == sending.prepare(post, NOW)
    names = [step.name for step in sending.steps(prepared, Cover())]
    assert len(set(names)) == len(names) > 0
    network = CHANNELS[case.channel].network
    assert "connect" in network.errors["needs_reconnecting"]
    assert case.placement in network.placements
