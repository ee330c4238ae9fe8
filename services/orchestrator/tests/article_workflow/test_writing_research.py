"""The client that reads research, against a server with prepared answers."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from chassis.http.client import UnavailableError
from documents.blocks import Paragraph
from documents.json_form import encode_section
from documents.sections import Section
from messaging import Dependency, RetryLater, Unprocessable, WaitFor
from orchestrator.article_workflow import ResearchClient
from orchestrator.article_workflow.research import MAX_BYTES, MAX_LINE
from writing import SourcePassage

RESEARCH = UUID(int=5)
BRAND = "daily-grind"
KEY = "test-service-key-0123456789"
NO_SECTION = b'{"sources": [{"n": 1, "title": "t", "passages": [], "section": {"title": "t"}}]}'


def client(research: Any, timeout: float = 5.0) -> ResearchClient:
    return client_of(research.url, timeout)


def client_of(url: str, timeout: float) -> ResearchClient:
    research = Dependency("research", outages=(UnavailableError,))
    return ResearchClient(url, SecretStr(KEY), timeout_seconds=timeout, research=research)


async def test_sources_are_read_with_the_key(research: Any) -> None:
    research.body = json.dumps(
        {
            "research_id": str(RESEARCH),
            "field of a newer version": 1,
            "sources": [
                {
                    "n": 1,
                    "title": "Steeping",
                    "url": None,
                    "path": "steeping.md",
                    "licence": "CC0",
                    "passages": [{"heading": None, "text": "Twelve\x00 hours.", "score": 1.5}],
                }
            ],
        }
    ).encode()

    (source,) = await client(research).fetch(RESEARCH, BRAND)

    assert research.asked == (f"/v1/research/{RESEARCH}", KEY)
    assert (source.title, source.path, source.licence) == ("Steeping", "steeping.md", "CC0")
    assert source.passages == (SourcePassage(heading=None, text="Twelve hours.", score=1.5),)


async def test_a_section_about_the_keyword_is_read_with_its_place(research: Any) -> None:
    steeping = Section("Steeping", 2, "steeping", (Paragraph("Twelve hours \\u0000 in the fridge."),))
    source = {"n": 1, "title": "Cold brew", "passages": []}
    section = {
        "section": encode_section(steeping),
        "about": 0.92,
        "titles_above": ["Cold brew"],
        "work": "Coffee",
    }
    research.body = json.dumps({"sources": [source | section]}).encode()

    (read,) = await client(research).fetch(RESEARCH, BRAND)

    assert (read.section, read.about, read.titles_above) == (steeping, 0.92, ("Cold brew",))
    assert read.work == "Coffee"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("https://user:pw@example.org/a?b=c@d#e", "https://example.org/a?b=c@d#e"),
        ("https://example.org/a@b", "https://example.org/a@b"),
        ("ftp://user:pw@example.org/a", None),
        ("javascript:alert(1)", None),
        ("http://[::1", None),
    ],
)
async def test_articles_name_no_address_with_a_password(research: Any, told: str, kept: str | None) -> None:
    source = {"n": 1, "title": "t" * 10_000, "url": told, "path": None, "licence": None, "passages": []}
    research.body = json.dumps({"research_id": str(RESEARCH), "sources": [source]}).encode()

    (read,) = await client(research).fetch(RESEARCH, BRAND)

    assert read.url == kept
    assert len(read.title) == MAX_LINE


async def test_another_brands_research_is_not_written_from(research: Any) -> None:
    research.body = json.dumps({"brand_slug": "tea-time", "sources": []}).encode()

    with pytest.raises(Unprocessable, match="belongs to brand 'tea-time', the command says 'daily-grind'"):
        await client(research).fetch(RESEARCH, BRAND)


@pytest.mark.parametrize(
    ("status", "headers", "after"),
    [
        (500, {}, None),
        (503, {"Retry-After": "7"}, timedelta(seconds=7)),
        (429, {"Retry-After": "1"}, timedelta(seconds=1)),
        (404, {}, None),
        (401, {}, None),
    ],
)
async def test_passing_failures_are_worth_another_attempt(
    research: Any, status: int, headers: dict[str, str], after: timedelta | None
) -> None:
    research.status, research.headers = status, headers

    with pytest.raises(RetryLater, match=str(status)) as raised:
        await client(research).fetch(RESEARCH, BRAND)

    assert after is None or (raised.value.after is not None and raised.value.after >= after)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b""),
        (302, b""),
        (200, b"no json"),
        (200, b'{"sources": 1}'),
        (200, NO_SECTION),
        (200, b" " * (MAX_BYTES + 1)),
    ],
)
async def test_lasting_failures_are_not(research: Any, status: int, body: bytes) -> None:
    research.status, research.body = status, body

    with pytest.raises(Unprocessable):
        await client(research).fetch(RESEARCH, BRAND)


@pytest.mark.parametrize(
    ("status", "outage"), [(503, True), (429, True), (401, True), (500, False), (404, False)]
)
async def test_an_outage_costs_no_attempt_and_other_failures_do(
    research: Any, status: int, outage: bool
) -> None:
    research.status = status
    with pytest.raises(RetryLater) as raised:
        await client(research).fetch(RESEARCH, BRAND)
    assert isinstance(raised.value, WaitFor) is outage


async def test_silence_and_absence_are_passing_failures(research: Any, free_port: Callable[[], int]) -> None:
    research.silent.clear()
    with pytest.raises(RetryLater, match="does not answer"):
        await client(research, 0.2).fetch(RESEARCH, BRAND)
    with pytest.raises(RetryLater, match="does not answer"):
        await client_of(f"http://127.0.0.1:{free_port()}", 5.0).fetch(RESEARCH, BRAND)
