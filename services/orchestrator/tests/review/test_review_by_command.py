"""`brandctl drafts` as a process of its own, beside the API."""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import new_event_id
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from tests.fixtures.commands import brandctl as commands
from tests.fixtures.commands.brandctl import CommandResult
from writing import Article, ArticleSource
from writing.article import ArticleEvidence, CitedPassage, CutPlace, CutSentence

ARTICLE = Article(
    title="Cold \u202ebrew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="## Time\n\nTwelve hours are enough. [1]",
    word_count=4,
    key_points=("Twelve hours are enough.",),
    cited=(1,),
)
SOURCE = ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")


@pytest.fixture
def new_draft(
    live_api: httpx.Client,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
) -> Callable[..., UUID]:
    live_api.put("/v1/brands/acme", json={"name": "Acme"}).raise_for_status()

    async def store(content_id: UUID, keyword: str, article: Article) -> None:
        async with orchestrator_database_at(orchestrator_url) as database, database.transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=content_id,
                brand_slug="acme",
                keyword=keyword,
                research_id=UUID(int=5),
                article=replace(article, slug=keyword.replace(" ", "-")),
                sources=[SOURCE],
                held_for=("231 words",),
            )

    def make(keyword: str = "cold brew", article: Article = ARTICLE) -> UUID:
        content_id = new_event_id()
        asyncio.run(store(content_id, keyword, article))
        return content_id

    return make


@pytest.fixture
def draft(new_draft: Callable[..., UUID]) -> UUID:
    return new_draft()


@pytest.fixture
def brandctl(live_api: httpx.Client, tmp_path: Path) -> Callable[..., CommandResult]:
    """Runs `brandctl …`; temporary files are made in `tmp_path`."""

    def run(*arguments: object, **environment: str) -> CommandResult:
        known = {
            "ORCHESTRATOR_URL": str(live_api.base_url).rstrip("/"),
            "SERVICE_KEY": live_api.headers["X-Service-Key"],
            "TMPDIR": str(tmp_path),
        }
        return commands.brandctl(*arguments, folder=tmp_path, variables=known | environment)

    return run


@pytest.fixture
def drafts(brandctl: Any) -> Callable[..., CommandResult]:
    """Runs `brandctl drafts …`."""
    return partial(brandctl, "drafts")


def editor(folder: Path, script: str) -> str:
    """An editor that changes the file as a program of Python says, which has its `text`."""
    path = folder / "editor.py"
    path.write_text(
        "import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
        f"{script}\nfile.write_text(text)\n"
    )
    return f"{sys.executable} {path}"


@pytest.mark.extended
def test_a_sentence_that_was_cut_is_kept(drafts: Any, brandctl: Any, new_draft: Callable[..., UUID]) -> None:
    cut = CutSentence(
        "It keeps for a month.",
        "Time",
        ("s1p1",),
        "not_said",
        "its passages do not say “month”",
        "It keeps for two weeks.",
        "Twelve hours are enough.",
        CutPlace.BEHIND,
    )
    evidence = ArticleEvidence((), (cut,), {"s1p1": CitedPassage(1, (), "It keeps for two weeks.")})
    draft = new_draft(article=replace(ARTICLE, evidence=evidence))
    shown = drafts("show", draft)
    assert shown.err.startswith(
        "cut 1 from “Time”: It keeps for a month.\n"
        "  because its passages do not say “month”\n"
        "  nearest in the sources: It keeps for two weeks. [1]\n"
        f"to keep one of these sentences in your own name: brandctl drafts keep {draft} NUMBER\n"
    )

    kept, again = drafts("keep", draft, 1, "-m", "we measured it"), drafts("keep", draft, 1)
    assert (kept.code, again.code) == (0, 0), kept.err
    assert "version 2: waiting" in kept.err
    assert "version 2: waiting" in again.err
    assert "+Twelve hours are enough. [1] It keeps for a month.\n" in drafts("diff", draft).out
    shown = drafts("show", draft)
    assert re.search(
        r"cut 1 from “Time”, kept by service on 20\S+ \S+ UTC: It keeps for a month\.\n", shown.err
    )
    assert "to keep one" not in shown.err
    found = brandctl("content", "evidence", draft)
    assert found.out.splitlines()[1:] == ["kept by service\tIt keeps for a month.\t"]
    assert found.err == "version 2: 1 sentences, 0 cut\n"
    missing = drafts("keep", draft, 2)
    assert (missing.code, "2 is none of them" in missing.err) == (1, True)


@pytest.mark.extended
def test_a_review_from_the_list_to_the_approval(drafts: Any, draft: UUID, tmp_path: Path) -> None:
    listed = drafts("list", "--brand", "acme")
    assert [line.split("\t") for line in listed.out.splitlines()] == [
        ["id", "brand", "version", "state", "words", "title", "why"],
        [str(draft), "acme", "1", "waiting", "4", "Cold \N{REPLACEMENT CHARACTER}brew", "231 words"],
    ]
    shown = drafts("show", draft)
    assert shown.out.startswith("Version: 1\nTitle: Cold ")
    assert shown.out.endswith("\n\n## Time\n\nTwelve hours are enough. [1]\n")
    assert "waits because 231 words" in shown.err

    unchanged = drafts("edit", draft, EDITOR="true")
    assert (unchanged.code, unchanged.err) == (0, "nothing changed; nothing was sent\n")
    edited = drafts(
        "edit", draft, "-m", "sooner", EDITOR=editor(tmp_path, "text = text.replace('Twelve', 'Eight')")
    )
    assert edited.code == 0, edited.err
    assert "version 2: waiting" in edited.err
    assert list(tmp_path.glob("draft-*")) == []
    compared = drafts("diff", draft)
    assert "-Twelve hours are enough. [1]\n+Eight hours are enough. [1]\n" in compared.out

    refused = drafts("approve", draft, "--version", 1)
    assert refused.code == 1
    assert "version 2 was made by service" in refused.err
    approved = drafts("approve", draft, "--version", 2, "--json")
    assert json.loads(approved.out)["state"] == "approved"
    nothing = drafts("list")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "nothing waits\n")
    mistyped = drafts("list", "--brand", "acmee")
    assert "nothing waits\nonly brand 'acmee' was looked at; brandctl brands list shows all" in mistyped.err


@pytest.mark.extended
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("text = text.replace('[1]', '[9]')", "which is no source of the article"),
        ("text = text.replace('Title:', 'Titel:')", "line 2 is no field"),
        ("text = text.replace('Title: ', 'Title: \\n')", "line 3 is no field"),
    ],
)
def test_what_is_refused_stays_in_a_file_and_can_be_sent_again(
    drafts: Any, draft: UUID, tmp_path: Path, script: str, said: str
) -> None:
    refused = drafts("edit", draft, EDITOR=editor(tmp_path, script))
    assert refused.code == 1
    assert said in refused.err
    (kept,) = tmp_path.glob("draft-*.md")
    assert str(kept) in refused.err

    shown = drafts("show", draft).out
    kept.write_text(shown.replace("Twelve", "Eight").replace("\N{REPLACEMENT CHARACTER}", ""))
    sent = drafts("edit", draft, "--file", kept)
    assert sent.code == 0, sent.err
    assert "version 2: waiting" in sent.err


@pytest.mark.extended
def test_a_draft_is_rejected_with_a_reason(drafts: Any, draft: UUID) -> None:
    assert drafts("looked", "acme").code == 0
    assert "of acme has been seen" in drafts("looked", "--draft", draft).err
    assert drafts("looked", "acme", "--draft", draft).code == drafts("looked").code == 2
    returned = drafts("return", draft, "-m", "shorter")
    assert returned.code == 1
    assert "edit or reject the draft" in returned.err
    rejected = drafts("reject", draft, "--reason", "off our tone")
    assert rejected.code == 0
    assert "version 1 rejected by service: off our tone" in rejected.err
    listed = drafts("list", "--state", "rejected", "--json")
    assert [each["content_id"] for each in json.loads(listed.out)["items"]] == [str(draft)]


def test_an_editor_that_is_not_there_is_named(drafts: Any, draft: UUID, tmp_path: Path) -> None:
    missing = drafts("edit", draft, EDITOR="no-such-editor")
    assert missing.code == 1
    assert "set EDITOR to your editor" in missing.err
    assert list(tmp_path.glob("draft-*")) == []


@pytest.mark.extended
def test_a_draft_is_approved_for_a_time_and_called_off(draft: UUID, drafts: Any) -> None:
    planned = drafts("approve", draft, "--at", "2107-03-01T09:00+01:00")
    assert planned.code == 0, planned.err
    assert "version 1 is published on 2107-03-01 08:00 UTC" in planned.err
    assert "published on 2107-03-01 08:00 UTC" in drafts("list", "--state", "scheduled").out
    called_off = drafts("unschedule", draft)
    assert (called_off.code, "version 1: waiting" in called_off.err) == (0, True)
    past = drafts("approve", draft, "--at", "2020-03-01T09:00+01:00")
    assert (past.code != 0, "lies in the past" in past.err) == (True, True)


@pytest.mark.extended
def test_an_article_that_has_its_time_is_moved_in_the_calendar_like_a_post(
    draft: UUID, brandctl: Any, drafts: Any, live_api: httpx.Client
) -> None:
    # No post has this id: whoever is asked for one says so.
    calendar = partial(brandctl, "calendar", SOCIAL_URL=str(live_api.base_url).rstrip("/"))
    timeless = calendar("move", draft, "--at", "2107-03-01T09:00+01:00")
    assert (timeless.code, f"brandctl drafts approve {draft} --at" in timeless.err) == (1, True)

    drafts("approve", draft, "--at", "2107-03-01T09:00+01:00")
    moved = calendar("move", draft, "--at", "2107-03-02T09:00+01:00")
    assert (moved.code, "on site: scheduled, 2107-03-02 08:00+00:00" in moved.err) == (0, True), moved.err
    first = calendar("move", draft, "--first")
    assert (first.code, "an article has no slots" in first.err) == (2, True)
    off = calendar("move", draft, "--off")
    assert (off.code, off.err.strip().endswith("on site: waiting")) == (0, True), off.err


@pytest.mark.extended
def test_targets_are_set_shown_and_asked_again(draft: UUID, brandctl: Any, live_api: httpx.Client) -> None:
    done = brandctl("brands", "set", "acme", "--targets", "site, company-blog")
    assert (done.code, "site, company-blog" in done.out) == (0, True), done.err
    assert live_api.get("/v1/brands/acme").json()["targets"] == ["site", "company-blog"]
    shown = brandctl("content", "targets", draft)
    assert shown.out.split()[4:5] == ["site"]
    waiting = brandctl("content", "publish", draft, "company-blog")
    assert (waiting.code, "is not published at its home, site, yet" in waiting.err) == (1, True)
    alone = brandctl("brands", "set", "acme", "--target", "company-blog")
    assert alone.code == 0, alone.err
    assert live_api.get("/v1/brands/acme").json()["targets"] == ["company-blog"]
    both = brandctl("brands", "set", "acme", "--target", "site", "--targets", "site")
    assert (both.code, "give only one of the two" in both.err) == (2, True)


@pytest.mark.extended
def test_several_drafts_are_approved_at_once_and_what_cannot_be_is_named(
    drafts: Any, new_draft: Callable[..., UUID]
) -> None:
    first, second, third = (new_draft(keyword) for keyword in ("cold brew", "moka pot", "grind size"))
    drafts("reject", second, "--reason", "We do not sell that.")

    some = drafts("approve", first, second, "--json")
    told = json.loads(some.out)
    assert some.code == 1
    assert [each["content_id"] for each in told["done"]] == [str(first)]
    assert [each["id"] for each in told["refused"]] == [str(second)]
    assert "1 of 2 done, 1 refused" in some.err

    unasked = drafts("approve", "--all", "--brand", "acme")
    assert (unasked.code, "Add --yes" in unasked.err) == (2, True)
    rest = drafts("approve", "--all", "--brand", "acme", "--yes")
    assert (rest.code, "(grind size), version 1: approved" in rest.err) == (0, True)
    assert json.loads(drafts("show", third, "--json").out)["state"] == "approved"
    nothing = drafts("approve", "--all", "--brand", "acme", "--yes")
    assert (nothing.code, nothing.err) == (1, "no draft of acme waits\n")


@pytest.mark.extended
@pytest.mark.parametrize(
    "arguments", [(), ("--all",), ("--brand", "acme"), (UUID(int=1), "--all", "--brand", "acme")]
)
def test_which_drafts_are_meant_must_be_said(drafts: Any, arguments: tuple[Any, ...]) -> None:
    refused = drafts("approve", *arguments)
    assert (refused.code, "give the ids of drafts, or --all with --brand BRAND" in refused.err) == (2, True)


@pytest.mark.extended
def test_a_time_without_an_offset_is_meant_by_the_clocks_of_the_brand(
    drafts: Any, brandctl: Any, draft: UUID
) -> None:
    brandctl("brands", "set", "acme", "--quiet", "22:00-07:00", "--time-zone", "America/New_York")

    approved = drafts("approve", draft, "--at", "2031-12-01 09:00")
    assert approved.code == 0, approved.err
    assert "is in the time zone America/New_York: 2031-12-01T09:00-05:00" in approved.err
    planned = json.loads(drafts("show", draft, "--json").out)["scheduled"]
    assert datetime.fromisoformat(planned["publish_at"]) == datetime(2031, 12, 1, 14, tzinfo=UTC)

    skipped = drafts("approve", draft, "--at", "2031-03-09 02:30")
    assert (skipped.code, "clocks of America/New_York skip 2031-03-09 02:30" in skipped.err) == (2, True)
    for typed in ("tomorrow", "2031-12-01", "9:00"):
        refused = drafts("approve", draft, "--at", typed)
        assert (refused.code, f"'{typed}' is no time; write it such as" in refused.err) == (2, True)
    utc = brandctl("schedules", "set", "acme", "launch", "--at", "2031-12-01 09:00", "tea", "--json")
    assert json.loads(utc.out)["next"] == ["2031-12-01T14:00:00Z"]
    own = ("--at", "2031-12-01 09:00", "--time-zone", "Asia/Tokyo", "--json")
    assert json.loads(brandctl("schedules", "set", "acme", "tokyo", *own, "tea").out)["next"] == [
        "2031-12-01T09:00:00+09:00"
    ]
