"""Decisions about dead letters."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envelope import EnvelopeHead
from monitor.dead_letters.domain import (
    SILENT_AFTER,
    DeadLetterSnapshot,
    DeadLetterState,
    DeadMessageId,
    InitialState,
    RefusalKind,
    discard_refusal,
    failing_frame,
    initial_state,
    is_announced,
    replay_refusal,
)
from monitor.dead_letters.replays import read_head, replay_of
from monitor.dead_letters.text_cleaning import clean_json

NOW = datetime(2026, 5, 6, 7, 8, tzinfo=UTC)
ID = DeadMessageId(uuid4())
REPLAY = uuid4()


def standing(
    state: DeadLetterState, *, replayable: bool = True, replayed: timedelta = timedelta()
) -> DeadLetterSnapshot:
    out = state is not DeadLetterState.OPEN
    return DeadLetterSnapshot(
        ID, state, replayable, NOW - replayed if out else None, REPLAY if out else None, "why"
    )


def test_only_an_open_envelope_is_replayed() -> None:
    assert replay_refusal(standing(DeadLetterState.OPEN)) is None
    garbage = replay_refusal(standing(DeadLetterState.OPEN, replayable=False))
    assert garbage is not None
    assert garbage.problem is RefusalKind.UNPROCESSABLE
    for state in (DeadLetterState.REPLAYING, DeadLetterState.RESOLVED, DeadLetterState.DISCARDED):
        refusal = replay_refusal(standing(state))
        assert refusal is not None
        assert refusal.problem is RefusalKind.CONFLICT


def test_what_is_on_its_way_is_discarded_only_once_it_is_lost() -> None:
    assert discard_refusal(standing(DeadLetterState.OPEN), now=NOW) is None
    assert discard_refusal(standing(DeadLetterState.REPLAYING, replayed=SILENT_AFTER), now=NOW) is None
    early = discard_refusal(standing(DeadLetterState.REPLAYING, replayed=timedelta(hours=1)), now=NOW)
    assert early is not None
    assert str(REPLAY) in early.reason
    for state in (DeadLetterState.RESOLVED, DeadLetterState.DISCARDED):
        assert discard_refusal(standing(state), now=NOW) is not None


def test_a_replay_that_died_takes_the_place_of_the_death_it_was_made_for() -> None:
    assert initial_state(handled_as=None, earlier=None) == InitialState(DeadLetterState.OPEN)
    assert initial_state(handled_as=None, earlier=standing(DeadLetterState.REPLAYING)) == InitialState(
        DeadLetterState.OPEN, replay_of=ID, closes=ID
    )
    settled = initial_state(handled_as=None, earlier=standing(DeadLetterState.DISCARDED))
    assert settled == InitialState(DeadLetterState.OPEN, replay_of=ID)


def test_a_death_whose_work_is_known_to_be_done_asks_for_nobody() -> None:
    beginning = initial_state(handled_as=REPLAY, earlier=standing(DeadLetterState.RESOLVED))
    assert beginning == InitialState(DeadLetterState.RESOLVED, f"handled as {REPLAY}", ID)


def test_the_death_of_an_announcement_is_not_announced() -> None:
    assert not is_announced("dead_letter.recorded")
    assert is_announced("dead_letter.resolved")
    assert is_announced(None)


def test_like_failures_are_told_by_the_innermost_frame() -> None:
    stack = 'x\n  File "/a/b/c/one.py", line 3, in f\n    g()\n  File "/a/b/two.py", line 9, in g\n    1/0\nE'
    assert failing_frame(stack) == "b/two.py:9 in g"
    assert failing_frame("Gone: 410") is None
    assert failing_frame(None) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(
        st.characters(exclude_categories=["Cs"])
    ),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@pytest.mark.extended
@given(
    payload=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON),
    extra=JSON,
    indent=st.booleans(),
)
def test_a_replay_differs_in_identity_cause_and_time_only(
    payload: object, extra: object, *, indent: bool
) -> None:
    original = {
        "event_id": str(uuid4()),
        "type": "content.publish",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "correlation_id": "chain-1",
        "causation_id": str(uuid4()),
        "payload": payload,
        "x-new": extra,
    }
    body = json.dumps(original, indent=2 if indent else None).encode()
    replay = replay_of(body, event_id=REPLAY, now=NOW)
    expected = {
        **original,
        "event_id": str(REPLAY),
        "causation_id": original["event_id"],
        "timestamp": NOW.isoformat(),
    }
    assert json.loads(replay.body) == expected
    assert EnvelopeHead.model_validate_json(replay.body).event_id == REPLAY
    assert (replay.original, replay.correlation_id) == (UUID(str(original["event_id"])), "chain-1")


def test_numbers_of_a_payload_are_sent_again_as_they_were_written() -> None:
    numbers = b'{"a":1.10,"b":123456789012345678901234567890.5,"c":1e300}'
    body = (
        b'{"event_id":"%s","type":"a.b","source":"x","timestamp":"2026-01-02T03:04:05Z","payload":%s}'
        % (str(uuid4()).encode(), numbers)
    )  # fmt: skip
    assert numbers in replay_of(body, event_id=REPLAY, now=NOW).body


@pytest.mark.parametrize("body", [b"", b"\xff\x00", b"[]", b'{"event_id": 1}', b"{" * 10_000, b" " * 200_000])
def test_what_is_no_envelope_is_not_replayed(body: bytes) -> None:
    assert read_head(body) is None
    with pytest.raises(ValueError, match="no envelope"):
        replay_of(body, event_id=REPLAY, now=NOW)


def test_headers_are_made_fit_to_be_stored() -> None:
    value = clean_json({"a\x00": ["\ud800", float("nan"), {"b": 1}], "ok": "é"})
    assert value == {"a�": ["?", "nan", {"b": 1}], "ok": "é"}
