import json
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.domain import NotPossibleError, State, check_discard, innermost_frame, replay, subject_of

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
CLOSED = [State.RESOLVED, State.SUPERSEDED, State.DISCARDED]


def envelope(**changes: object) -> bytes:
    return json.dumps(
        {
            "event_id": str(uuid4()),
            "type": "research.requested",
            "source": "orchestrator",
            "timestamp": "2026-01-02T03:04:05Z",
            "correlation_id": "chain-1",
            "payload": {"brand_slug": "acme", "keyword": "solar panels"},
            "from-a-newer-sender": [1, 2],
            **changes,
        }
    ).encode()


def test_a_replay_is_a_new_message_of_the_same_conversation() -> None:
    original, new = uuid4(), uuid4()
    body = envelope(event_id=str(original))

    message = replay(
        state=State.OPEN, body=body, event_id=original, queue="research-commands", new_event_id=new, now=NOW
    )

    assert json.loads(message.body) == json.loads(body) | {
        "event_id": str(new),
        "causation_id": str(original),
        "timestamp": NOW.isoformat(),
    }
    assert (message.event_id, message.replay_of) == (new, original)
    assert (message.queue, message.type) == ("research-commands", "research.requested")
    assert message.correlation_id == "chain-1"


@pytest.mark.parametrize("state", [State.REPLAYING, *CLOSED])
def test_only_an_open_dead_letter_is_replayed(state: State) -> None:
    with pytest.raises(NotPossibleError, match="replay"):
        replay(state=state, body=envelope(), event_id=uuid4(), queue="q", new_event_id=uuid4(), now=NOW)


def test_a_body_that_is_no_envelope_is_not_replayed_and_the_reason_says_what_to_do() -> None:
    with pytest.raises(NotPossibleError, match="discard"):
        replay(state=State.OPEN, body=b"?", event_id=None, queue="q", new_event_id=uuid4(), now=NOW)


@pytest.mark.parametrize("state", [State.REPLAYING, *CLOSED])
def test_only_an_open_dead_letter_is_discarded(state: State) -> None:
    check_discard(State.OPEN)
    with pytest.raises(NotPossibleError):
        check_discard(state)


def test_the_innermost_frame_names_file_line_and_function() -> None:
    stack = (
        'Traceback (most recent call last):\n  File "/srv/app/runner.py", line 7, in run\n    go()\n'
        '  File "/srv/app/store.py", line 42, in save\n    raise ValueError\nValueError\n'
    )
    assert innermost_frame(stack) == "store.py:42 in save"
    assert innermost_frame(None) is None
    assert innermost_frame("no stack") is None


def test_the_subject_is_what_the_payload_names() -> None:
    content = uuid4()
    body = envelope(payload={"brand_slug": "acme", "keyword": "k", "content_id": str(content)})
    subject = subject_of(body)
    assert (subject.brand_slug, subject.keyword, subject.content_id) == ("acme", "k", content)


@given(
    st.binary()
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.uuids().map(str),
        lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    ).map(lambda value: json.dumps({"payload": value}).encode())
    | st.fixed_dictionaries({"brand_slug": st.text(), "keyword": st.text(), "content_id": st.text()}).map(
        lambda value: json.dumps({"payload": value}).encode()
    )
)
def test_whatever_the_body_is_its_subject_fits_the_announcement(body: bytes) -> None:
    subject = subject_of(body)
    assert subject.keyword is None or ("\x00" not in subject.keyword and 0 < len(subject.keyword) <= 200)
    assert subject.brand_slug is None or subject.brand_slug.replace("-", "").isalnum()
    assert subject.content_id is None or isinstance(subject.content_id, UUID)
