"""The decoders, without a broker: thousands of bodies and headers, and never more than an answer."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from envelope import EnvelopeHead
from envelope.brand import CATALOGUE
from faults.strange_input.door import LONGEST_DETAIL
from faults.strange_input.messages import (
    FAILS,
    HOPELESS,
    KINDS,
    SECRET,
    ExpectedEnd,
    StrangeMessage,
    dressed,
    sound,
)
from faults.strange_input.raw_properties import RawProperties
from messaging.flow import codec, dead_letters
from messaging.flow.codec import InvalidMessage, NotAnEnvelope
from messaging.flow.dead_letters import DeadLetter
from messaging.topology import work_queues

# Large headers are what this is about.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
THOROUGHLY = settings(
    max_examples=80, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True
)
DECODERS = {
    queue: codec.decoder(
        CATALOGUE, [entry.name for entry in CATALOGUE.values() if entry.queue == queue], queue
    )
    for queue in work_queues(CATALOGUE)
}


def kinds() -> st.SearchStrategy[StrangeMessage]:
    return st.sampled_from(KINDS).flatmap(lambda kind: dressed(kind(), st.just(RawProperties())))


@pytest.mark.extended
@pytest.mark.parametrize("kind", dict.fromkeys(KINDS), ids=lambda kind: kind.__name__)
def test_the_decoder_takes_what_it_should_and_says_of_the_rest_what_is_wrong(kind) -> None:
    @THOROUGHLY
    @given(dressed(kind(), st.just(RawProperties())), st.booleans())
    def check(strange: StrangeMessage, names_its_type: bool) -> None:
        amqp_type = strange.what.partition(":")[0] if names_its_type else None
        decoded = DECODERS[strange.queue](strange.body, amqp_type, {})
        match decoded:
            case NotAnEnvelope(detail):
                assert strange.expected is not ExpectedEnd.EFFECT
                assert strange.expected is ExpectedEnd.EITHER or strange.event_id is None
            case InvalidMessage(head, failure):
                detail = failure.message
                assert strange.expected is not ExpectedEnd.EFFECT
                assert head.event_id == strange.event_id
            case message:
                assert strange.expected is not ExpectedEnd.DEATH or message.causation_id in {FAILS, HOPELESS}
                assert message.event_id == strange.event_id
                return
        assert 0 < len(detail) <= LONGEST_DETAIL
        assert SECRET not in detail
        assert any(name in detail for name in strange.names)

    check()


HEADER_NAMES = st.sampled_from(
    [
        "attempt",
        "replay-of",
        "traceparent",
        "x-death",
        "failure-reason",
        "failure-message",
        "failure-stack",
        "failure-attempts",
        "failure-first-at",
        "failure-last-at",
        "failure-service",
        "failure-type",
        "failure-code",
        "failure-version",
    ]
)
HEADER_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.binary(max_size=50)
    | st.text(max_size=50)
    | st.datetimes()
    | st.decimals()
    | st.sampled_from(["rejected", "delivery_limit", "expired", "exhausted", SECRET * 9999]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            HEADER_NAMES | st.sampled_from(["reason", "count", "time", "queue"]), inner, max_size=4
        )
    ),
)
DEATHS = st.fixed_dictionaries(
    {}, optional={"reason": HEADER_VALUES, "count": HEADER_VALUES, "time": HEADER_VALUES}
)


@pytest.mark.extended
@THOROUGHLY
@given(
    kinds(),
    st.dictionaries(HEADER_NAMES, HEADER_VALUES, max_size=6),
    st.none() | st.lists(DEATHS, max_size=2),
)
def test_every_dead_letter_can_be_read_whatever_its_headers_claim(
    strange: StrangeMessage, headers: dict[str, Any], deaths: list[dict[str, Any]] | None
) -> None:
    if deaths is not None:
        headers = {**headers, "x-death": deaths}
    with capture_logs():
        decoded = dead_letters.decoder("research-commands")(strange.body, None, headers)
    letter = decoded.payload
    assert isinstance(letter, DeadLetter)
    assert letter.body == strange.body
    assert letter.detail.strip()
    assert len(letter.detail) <= LONGEST_DETAIL
    assert len(letter.stack or "") <= 2 * LONGEST_DETAIL
    assert letter.failed_at.tzinfo is not None


@THOROUGHLY
@given(sound())
def test_what_is_sound_is_read_as_it_was_written(message) -> None:
    body = json.dumps(message.document).encode()
    decoded = DECODERS[message.entry.queue](body, message.entry.name, {})
    assert decoded.event_id == message.event_id
    assert EnvelopeHead.model_validate_json(body).type == decoded.type


def test_headers_nested_too_deeply_to_be_kept_cost_the_letter_no_more_than_themselves() -> None:
    nested: list[Any] = []
    for _ in range(500):
        nested = [nested]
    with capture_logs():
        decoded = dead_letters.decoder("research-commands")(b"no json", None, {"x": nested})
    assert decoded.payload.detail.startswith("the body is no envelope")
