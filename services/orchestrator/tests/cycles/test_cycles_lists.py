"""Keywords as lists of text: accepted forms, and the sentences about mistakes."""

import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envelope.brand.payloads import Priority
from orchestrator.cycles.lists import KeywordLine, KeywordListError, read_lines, read_table

HIGH = Priority.HIGH


@pytest.mark.parametrize(
    "body",
    [
        b"pour over\ncold brew",
        b"\xef\xbb\xbfpour over\r\ncold brew\r\n",
        b"pour over\rcold brew\r",
        b"  pour over\t\ncold brew  \n\n\n",
    ],
)
def test_lines_are_keywords(body: bytes) -> None:
    assert read_lines(body) == [KeywordLine(1, "pour over"), KeywordLine(2, "cold brew")]


@pytest.mark.parametrize(
    "body",
    [
        b"keyword,priority\npour over,high\ncold brew,\n",
        b'\xef\xbb\xbfKeyword;Priority\r\n"pour over";HIGH\r\ncold brew;\r\n;\r\n',
        b"priority\tkeyword\nhigh\tpour over\n\tcold brew",
        b"keyword , priority\n pour over , high \ncold brew, \n",
    ],
)
def test_tables_are_read_as_spreadsheets_save_them(body: bytes) -> None:
    assert read_table(body) == [KeywordLine(2, "pour over", HIGH), KeywordLine(3, "cold brew")]


def test_a_quoted_cell_may_hold_the_separator_and_quotes() -> None:
    assert read_table(b'keyword\n"tea, ""green"""\n') == [KeywordLine(2, 'tea, "green"')]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b"pour over\ncold brew\n", "line 1: the first line of a table names its columns"),
        (b"", "line 1: the first line of a table"),
        (b"keyword,volume\ntea,10\n", "line 1: the column 'volume' is not known"),
        (b"keyword,keyword\na,b\n", "line 1: the column `keyword` is there twice"),
        (b"keyword\ntea\ntea, green\n", "line 3: has 2 cells, the header has 1"),
        (b"keyword,priority\ntea,soon\n", "line 2: the priority 'soon' is none; say high, normal, low"),
        (b'keyword\ntea\n"green\n', "line 3: unexpected end of data"),
        (b"keyword\ntea\n\xff\n", "line 3: is not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_understood_is_refused_by_its_line(body: bytes, hint: str) -> None:
    with pytest.raises(KeywordListError) as refused:
        read_table(body)
    assert hint in str(refused.value)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("read", "body", "hint"),
    [
        (read_lines, b"a\n" * 6_200_000, "line 10001: the list has more than 10,000 keywords"),
        (read_lines, b"a\n" * 10_001, "line 10001: the list has more than 10,000 keywords"),
        (read_lines, b"\r" * 12_400_000, "more than 100,000 lines"),
        (read_lines, b"tea\n" + b" " * 12_000_000, "line 2: has more than 10,000 characters"),
        (read_table, b"keyword\n" + b"a\n" * 10_001, "line 10002: the list has more than 10,000 keywords"),
        (
            read_table,
            b"keyword\n" + b"a\r\n" * 4_000_000,
            "line 10002: the list has more than 10,000 keywords",
        ),
        (read_table, b"keyword\n" + b"\r\n" * 6_000_000, "more than 100,000 lines"),
        (read_table, b"keyword\n" + b"," * 12_000_000, "line 2: has more than 10,000 characters"),
        (read_table, b"," * 12_000_000, "line 1: has more than 10,000 characters"),
        (
            read_table,
            b'keyword\n"' + (b"," * 9_000 + b"\n") * 1_000,
            "line 3: has more than 10,000 characters",
        ),
    ],
    ids=[
        "lines",
        "entries",
        "returns",
        "spaces",
        "rows",
        "many-rows",
        "empty-rows",
        "cells",
        "columns",
        "cells-over-lines",
    ],
)
def test_a_list_that_is_too_long_is_not_read_to_its_end(
    read: Callable[[bytes], list[KeywordLine]], body: bytes, hint: str
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(KeywordListError, match=hint):
            read(body)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The text itself twice; millions of entries would be hundreds of megabytes.
    assert most < 60_000_000


def test_the_longest_list_there_may_be_is_read() -> None:
    keywords = [f"{number:05} {'é' * 194}" for number in range(10_000)]
    assert len(read_lines("\n\n".join(keywords).encode())) == 10_000
    assert len(read_table("\r\n".join(["keyword", *keywords]).encode())) == 10_000


@given(st.binary(max_size=300))
def test_any_bytes_are_a_list_or_a_sentence(body: bytes) -> None:
    for read in (read_lines, read_table):
        with suppress(KeywordListError):
            assert all(each.line >= 1 for each in read(body))


@pytest.fixture
async def brand(api: httpx.AsyncClient) -> str:
    (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
    return "/v1/brands/acme/research"


async def test_a_list_is_a_cycle(api: httpx.AsyncClient, brand: str) -> None:
    table = await api.post(
        brand,
        content="keyword,priority\ntea,low\nTea,high\ncoffee,\n",
        headers={"Content-Type": "text/csv; charset=utf-8"},
        params={"priority": "high"},
    )
    lines = await api.post(brand, content="tea\ncoffee\n", headers={"Content-Type": "text/plain"})

    assert [each.json()["total"] for each in (table, lines)] == [2, 2]
    cycle = (await api.get(lines.headers["location"])).json()
    assert [each["keyword"] for each in cycle["keywords"]] == ["tea", "coffee"]
    # What fetch() of browsers says of JSON when nobody cares to say better.
    as_ever = await api.post(brand, content='{"keywords": ["tea"]}', headers={"Content-Type": "text/plain"})
    assert as_ever.json()["total"] == 1


@pytest.mark.extended
@pytest.mark.parametrize(
    ("body", "kind", "hint"),
    [
        ("tea\n\n" + "x" * 201, "plain", "line 3: has 201 characters"),
        ("keyword\ntea\n???\n", "csv", "line 3: has no letter or digit"),
        ("\n\n", "plain", "keywords: is empty"),
        ("\n".join(map(str, range(10_001))), "plain", "line 10001: the list has more than 10,000 keywords"),
        ("volume\n10\n", "csv", "one of them is `keyword`"),
    ],
)
async def test_a_list_that_cannot_be_taken_is_refused_with_a_sentence(
    api: httpx.AsyncClient, brand: str, body: str, kind: str, hint: str
) -> None:
    answer = await api.post(brand, content=body, headers={"Content-Type": f"text/{kind}"})

    assert (answer.status_code, hint in answer.json()["detail"]) == (422, True), answer.text


async def test_elsewhere_a_body_that_says_it_is_a_list_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.put(
        "/v1/brands/acme", content='{"name": "Acme"}', headers={"Content-Type": "text/csv"}
    )
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
