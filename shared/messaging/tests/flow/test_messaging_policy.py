import asyncio
import os
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchCompleted, ResearchRequested
from messaging import Context, QueuePolicy, Service, ServiceSettings, Transaction, on_batch, on_each
from messaging.flow.codec import InvalidMessage, NotAnEnvelope, decoder
from messaging.flow.dead_letters import read

SETTINGS = {
    "rabbitmq_url": "amqp://user:a-secret@127.0.0.1/",
    "database_url": "postgresql://user:a-secret@127.0.0.1/x",
    "service_key": "a-secret-of-16-characters",
}


def test_the_backoff_doubles_from_30_seconds_to_10_minutes() -> None:
    policy = QueuePolicy()
    waits = [policy.backoff(attempt).total_seconds() for attempt in range(1, 8)]
    assert waits == [30, 60, 120, 240, 480, 600, 600]
    assert policy.backoff(2**62).total_seconds() == 600


def test_the_fifth_failure_is_the_last() -> None:
    assert [QueuePolicy().exhausted(attempt) for attempt in (1, 4, 5, 6)] == [False, False, True, True]
    assert not QueuePolicy(max_attempts=None).exhausted(1000)


def test_single_handlers_hold_two_batches_if_they_are_done_in_time() -> None:
    assert QueuePolicy().held(singly=False) == 300
    assert QueuePolicy().held(singly=True) == 200
    assert QueuePolicy(max_concurrency=80).held(singly=True) == 240
    assert QueuePolicy(max_batch_size=25).held(singly=True) == 50
    # Five minutes each: more than five for each slot would lie here for more than 25 minutes.
    assert QueuePolicy(handler_timeout=300).held(singly=True) == 40
    assert QueuePolicy(handler_timeout=600).held(singly=True) == 24
    assert QueuePolicy(handler_timeout=300, prefetch=8).held(singly=True) == 8


@pytest.mark.parametrize("values", [{"max_batch_size": 0}, {"max_concurrency": 0}, {"handler_timeout": 0}])
def test_a_policy_that_could_do_no_work_is_refused(values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        QueuePolicy(**values)


def test_settings_show_no_secret() -> None:
    settings = ServiceSettings.model_validate(SETTINGS)
    assert "a-secret" not in repr(settings)
    assert "a-secret" not in str(settings.model_dump())


async def nothing(_messages: object, _tx: Transaction) -> None:
    return


async def nothing_each(_message: DomainMessage, _context: Context) -> None:
    return


async def test_two_handlers_of_one_type_and_unknown_queues_are_refused_when_wired() -> None:
    service = Service("research", ServiceSettings.model_validate(SETTINGS), CATALOGUE)
    with pytest.raises(ValueError, match=r"two handlers take research\.requested"):
        service.consume(
            "research-commands",
            on_batch(nothing, ResearchRequested),
            on_each(nothing_each, ResearchRequested),
        )
    with pytest.raises(ValueError, match="not in the topology"):
        service.consume("somewhere", on_batch(nothing, ResearchCompleted))


@given(st.binary())
def test_no_bytes_break_the_decoder(body: bytes) -> None:
    decoded = decoder(CATALOGUE, ["research.requested"], "q")(body, "research.requested", {})
    assert isinstance(decoded, NotAnEnvelope | InvalidMessage)
    assert read(body, {}, "q").body == body


HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "attempt",
            "failure-reason",
            "failure-message",
            "failure-attempts",
            "failure-last-at",
            "replay-of",
            "x-death",
        ]
    )
    | st.text(max_size=10),
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.lists(st.dictionaries(st.text(), st.integers())),
)


@pytest.mark.extended
@given(st.binary(max_size=50), HEADERS)
@example(b"", {"failure-first-at": "0001-01-01T00:00:00+23:59"})
@example(b"", {"failure-last-at": "9999-12-31T23:59:59-23:59"})
def test_no_headers_break_the_reading_of_dead_letters(body: bytes, headers: dict[str, object]) -> None:
    letter = read(body, headers, "q")
    assert letter.attempts >= 1
    assert letter.failed_at.tzinfo is not None


def run_research(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | variables
    return subprocess.run(
        [sys.executable, "-m", "research", *arguments],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.extended
def test_a_service_names_the_settings_it_lacks_and_shows_no_traceback() -> None:
    result = run_research()
    assert result.returncode == 1
    assert "DATABASE_URL: Field required" in result.stderr
    assert "SERVICE_KEY: Field required" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.extended
async def test_a_migration_needs_the_database_and_nothing_else(database_url: str) -> None:
    first = await asyncio.to_thread(run_research, "migrate", DATABASE_URL=database_url)
    again = await asyncio.to_thread(run_research, "migrate", DATABASE_URL=database_url)
    assert (first.returncode, first.stderr) == (0, "")
    assert "messaging/0001_inbox_outbox.sql" in first.stdout
    assert "up to date" in again.stdout
