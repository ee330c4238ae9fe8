"""Lists as files: the filters of the page, formulas that stay text, and an end that says whether it is one."""

import csv
import io
import json
from typing import Any

import httpx
import pytest

from client import UnreachableError
from console.list_files import writing
from console.list_files.writing import ListPages, csv_pieces, json_pieces

COLUMNS = {"title": "Title", "words": "Words"}
ENDS = {"more": "The list goes on", "broken": "No answer"}


async def joined(pieces: Any) -> str:
    return b"".join([each async for each in pieces]).decode("utf-8-sig")


def pages_of(*pages: list[Any], broken: bool = False) -> ListPages:
    rest = list(pages)

    def one() -> dict[str, Any]:
        items = rest.pop(0)
        return {"items": [{"title": each, "words": 3} for each in items], "next": rest or broken or None}

    async def read(_: Any) -> dict[str, Any]:
        if not rest:
            raise UnreachableError("no answer")
        return one()

    return ListPages(one(), read)


async def test_foreign_text_is_no_formula_and_stays_whole() -> None:
    titles = ["=1+1", "+1", "-1", "@a", "\t=1", 'plain, "quoted"\nline', "ü"]
    rows = list(csv.reader(io.StringIO(await joined(csv_pieces(pages_of(titles), COLUMNS, ENDS)))))
    assert rows[0] == ["Title", "Words"]
    assert [row[0] for row in rows[1:]] == [
        "'=1+1",
        "'+1",
        "'-1",
        "'@a",
        "'\t=1",
        'plain, "quoted"\nline',
        "ü",
    ]
    assert rows[1][1] == "3"


async def test_the_file_says_whether_the_list_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_ROWS", 3)
    for pages, end, last in (
        (pages_of(["a", "b"], ["c"]), "whole", "c,3"),
        (pages_of(["a", "b"], ["c", "d"], ["e"]), "more", "The list goes on"),
        (pages_of(["a", "b"], broken=True), "broken", "No answer"),
    ):
        assert (await joined(csv_pieces(pages, COLUMNS, ENDS))).splitlines()[-1] == last
        assert pages.end == end
    told = json.loads(await joined(json_pieces(pages_of(["a", "b"], ["c", "d"], ["e"]), COLUMNS)))
    assert told == {"items": [{"title": each, "words": 3} for each in "abc"], "end": "more"}


@pytest.mark.extended
async def test_a_list_is_a_file_with_the_filter_of_its_page(console: Any, person: httpx.AsyncClient) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    keywords = b"cold brew\n=cmd|calc\ngrind size"
    await console.orchestrator.submit_keywords("acme", keywords, content_type="text/plain")
    page = (await person.get("/b/acme/keywords", params={"q": "brew"})).text
    assert 'href="/b/acme/keywords.csv?q=brew"' in page
    some = await person.get("/b/acme/keywords.csv", params={"q": "brew"})
    assert some.headers["content-disposition"] == 'attachment; filename="acme-keywords.csv"'
    assert some.text.count("\r\n") == 2
    assert "cold brew" in some.text
    every = await person.get("/b/acme/keywords.csv")
    assert "'=cmd|calc" in every.text
    told = (await person.get("/b/acme/keywords.json", params={"state": "queued"})).json()
    assert {each["keyword"] for each in told["items"]} == {"cold brew", "=cmd|calc", "grind size"}
    assert told["end"] == "whole"
    for name in ("drafts", "articles"):
        assert (await person.get(f"/b/acme/{name}.json")).json() == {"items": [], "end": "whole"}
    assert (await person.get("/b/acme/posts.csv")).status_code == 503
    assert (await person.get("/b/acme/keywords.exe")).status_code == 422
