"""`brandctl brands export` and `erase`, and `brandctl drafts delete`, as processes of their own."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from chassis.testing import serving
from client.brand_archive import PARTS
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import BrandErased
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.erasure import note_receipts
from tests.fixtures.commands.brandctl import Operator
from writing import Article


@pytest.fixture
async def brandctl(brandctl: Operator) -> AsyncIterator[Operator]:
    """Beside a research service that knows one document; `MEASURES_URL`: a publisher and a social that know of two articles and one post."""
    document = {
        "id": 1, "name": "notes.md", "size": 5, "state": "read", "problem": None, "title": "Notes", "passages": 1,
        "uploaded_at": "2026-01-01T00:00:00Z", "licence": None, "own": True,
    }  # fmt: skip

    async def documents(_: Request) -> JSONResponse:
        return JSONResponse({"items": [document], "counts": {}, "next": None})

    async def sources(_: Request) -> JSONResponse:
        return JSONResponse({"folder": True})

    async def measures(request: Request) -> JSONResponse:
        asked = request.query_params
        assert asked["days"] == "400"
        counted = {"views": 3, "clicks": 1, "days": [{"day": "2026-01-01", "views": 3, "clicks": 1}]}
        first = asked.get("after") is None
        page = {"items": [{"title": "Tea" if first else "Rum"}], "next": "2.b" if first else None}
        return JSONResponse(counted | page)

    async def reach(_: Request) -> JSONResponse:
        day = {"day": "2026-01-02", "likes": 4, "shares": 0, "replies": None}
        return JSONResponse({"items": [{"account": "mastodon", "days": [day]}], "next": None})

    async def subscribers(_: Request) -> JSONResponse:
        person = {"id": 1, "address": "reader@site.example", "state": "confirmed"}
        return JSONResponse({"items": [person], "counts": {}, "next": None})

    routes = [
        Route("/v1/brands/acme/measures", measures),
        Route("/v1/brands/acme/newsletter/subscribers", subscribers),
        Route("/v1/brands/acme/reach", reach),
        Route("/v1/brands/acme/documents", documents),
        Route("/v1/brands/acme/sources", sources),
    ]
    async with serving(Starlette(routes=routes)) as url:
        yield replace(brandctl, variables=brandctl.variables | {"RESEARCH_URL": url, "MEASURES_URL": url})


@pytest.fixture
async def content_id(api: httpx.AsyncClient, orchestrator_database: Database) -> UUID:
    weekly = {"keywords": ["tea"], "cron": "0 6 * * SUN"}
    (await api.put("/v1/brands/acme/schedules/weekly", json=weekly)).raise_for_status()
    handed_in = {"keywords": ["tea", "rum"], "each_distinct": [None, True]}
    (await api.post("/v1/brands/acme/research", json=handed_in)).raise_for_status()
    for decision in (
        {"kind": "split", "keyword": "teas"},
        {"kind": "join", "keyword": "grog", "other": "rum"},
    ):
        (await api.post("/v1/brands/acme/subject-decisions", json=decision)).raise_for_status()
    made = new_event_id()
    async with orchestrator_database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=made,
            brand_slug="acme",
            keyword="tea",
            research_id=new_event_id(),
            article=Article("Tea", "tea", "", "## A\n\nSteep it.\n", 2, ("Steep it.",), ()),
            sources=(),
        )
    changed = {"version": 1, "body_markdown": "## A\n\nSteep it longer.\n", "comment": "longer"}
    (await api.post(f"/v1/drafts/{made}/edit", json=changed)).raise_for_status()
    return made


async def test_all_that_is_known_of_a_brand_is_in_its_export(
    brandctl: Operator, content_id: UUID, tmp_path: Path
) -> None:
    manifest = await brandctl.json("brands", "export", "acme", "--to", "acme.zip")
    told = {
        "cycles": 1,
        "keywords": 2,
        "articles": 1,
        "versions": 2,
        "schedules": 1,
        "documents": 1,
        "subject_decisions": 2,
    }
    assert manifest.items() >= (told | {"measured": None, "received": None}).items()
    with ZipFile(tmp_path / "acme.zip") as archive:
        assert archive.testzip() is None
        folder = f"articles/tea-{content_id}"
        assert archive.namelist() == [
            "brand.json",
            "keywords.jsonl",
            f"{folder}/article.json",
            *(f"{folder}/version-00{number}.{kind}" for number in (1, 2) for kind in ("md", "json")),
            "schedules.jsonl",
            "subject-decisions.jsonl",
            "sources.json",
            "documents.jsonl",
            *(f"copy/orchestrator/{part}.jsonl" for part in PARTS["orchestrator"]),
            "manifest.json",
        ]
        # The research of this test is one of an earlier version.
        assert json.loads(archive.read("manifest.json"))["copied"] == ["orchestrator"]
        assert archive.read(f"{folder}/version-002.md").decode() == "# Tea\n\n## A\n\nSteep it longer.\n"
        article = json.loads(archive.read(f"{folder}/article.json"))
        assert [each["decision"] for each in article["decisions"]] == ["edited"]
        keywords = [json.loads(line) for line in archive.read("keywords.jsonl").splitlines()]
        assert [(each["keyword"], each["distinct"]) for each in keywords] == [("tea", False), ("rum", True)]
        decisions = [json.loads(line) for line in archive.read("subject-decisions.jsonl").splitlines()]
        assert [(each["kind"], each["keyword"], each["other"]) for each in decisions] == [
            ("join", "grog", "rum"),
            ("split", "teas", None),
        ]
        assert {"decided_by", "decided_at"} <= decisions[0].keys()
        assert json.loads(archive.read("schedules.jsonl"))["keyword_list"] == ["tea"]
        for name in archive.namelist():
            assert brandctl.variables["SERVICE_KEY"].encode() not in archive.read(name)

    url = brandctl.variables["MEASURES_URL"]
    beside = {"PUBLISHER_URL": url, "SOCIAL_URL": url}
    counted = await brandctl("brands", "export", "acme", "--to", "counted.zip", **beside)
    assert (counted.code, "without what is" in counted.err) == (0, False), counted.err
    with ZipFile(tmp_path / "counted.zip") as archive:
        names = [name for name in archive.namelist() if not name.startswith("copy/")]
        assert names[-5:] == [
            "measures.json",
            "measured.jsonl",
            "subscribers.jsonl",
            "received.jsonl",
            "manifest.json",
        ]
        assert set(json.loads(archive.read("measures.json"))) == {"views", "clicks", "days"}
        measured = [json.loads(line)["title"] for line in archive.read("measured.jsonl").splitlines()]
        (received,) = map(json.loads, archive.read("received.jsonl").splitlines())
        assert (measured, received["days"][0]["likes"]) == (["Tea", "Rum"], 4)
        (subscriber,) = map(json.loads, archive.read("subscribers.jsonl").splitlines())
        assert subscriber["address"] == "reader@site.example"
        manifest = json.loads(archive.read("manifest.json"))
        assert (manifest["measured"], manifest["subscribers"], manifest["received"]) == (2, 1, 1)

    unknown = await brandctl("brands", "export", "nobody", "--to", "x.zip")
    assert (unknown.code, "there is no brand 'nobody'" in unknown.err) == (1, True)
    nowhere = await brandctl("brands", "export", "acme", "--json")
    assert (nowhere.code, "give --to FILE" in nowhere.err) == (2, True)


@pytest.mark.extended
async def test_a_brand_is_erased_once_that_is_meant(
    brandctl: Operator, content_id: UUID, api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    asked = await brandctl("brands", "erase", "acme")
    assert (asked.code, "1 articles" in asked.err, "--yes" in asked.err) == (2, True, True)
    assert (await api.get("/v1/brands/acme")).status_code == 200

    begun = await brandctl("brands", "erase", "acme", "--yes", "--wait", "0")
    assert (begun.code, "not every service has answered" in begun.err) == (1, True)
    assert (await api.get("/v1/brands/acme")).status_code == 404
    erasure = (await api.get("/v1/brands/acme/erasure")).json()
    for service in ("monitor", "research", "publisher", "social", "events"):
        receipt = BrandErased(
            brand_slug="acme", erasure_id=erasure["erasure_id"], service=service, removed={"things": 3}
        )
        await answer(orchestrator_database, receipt)
    done = await brandctl("brands", "erase", "acme")
    assert done.code == 0, done.err
    assert done.out.splitlines()[2].split("\t")[::2] == ["monitor", "3 things"]
    never = await brandctl("brands", "erase", "nobody", "--yes")
    assert (never.code, "there is no brand 'nobody'" in never.err) == (1, True)


async def answer(database: Database, receipt: BrandErased) -> None:
    event: Any = DomainMessage[BrandErased](
        event_id=new_event_id(),
        type="brand.erased",
        source=receipt.service,
        timestamp=datetime.now(UTC),
        payload=receipt,
    )
    async with database.transaction() as tx:
        await note_receipts([event], tx)


@pytest.mark.extended
async def test_an_article_is_deleted_once_that_is_meant(brandctl: Operator, content_id: UUID) -> None:
    command = ("drafts", "delete", str(content_id), "--reason", "It was wrong.")
    asked = await brandctl(*command)
    assert (asked.code, "Delete “Tea” of acme" in asked.err) == (2, True)
    deleted = await brandctl(*command, "--yes")
    assert (deleted.code, deleted.err) == (0, "tea of acme was deleted by service: It was wrong.\n")
    assert (await brandctl.json(*command, "--yes"))["content_id"] == str(content_id)
    assert "was deleted by service" in (await brandctl("drafts", "show", str(content_id))).err
