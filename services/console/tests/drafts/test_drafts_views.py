"""Contents of the screens of drafts, and allowed values of addresses and forms."""

from datetime import UTC, datetime
from typing import Any

from console.drafts.views import (
    ChosenDraft,
    DraftQuery,
    block_groups,
    chosen_drafts,
    count_verdicts,
    time_in_zone,
)

ID = "01a2039b-d3d6-725b-807f-f228e7449a42"
OTHER = "01a2039b-d3d6-725b-807f-f228e7449a43"


def sentence(verdict: str) -> dict[str, Any]:
    return {"text": verdict, "verdict": verdict, "sources": [1]}


MARKED = {
    "blocks": [
        {"kind": "heading", "text": "Time", "sentences": []},
        {"kind": "item", "text": "a", "sentences": [sentence("held"), sentence("unsupported")]},
        {"kind": "item", "text": "b", "sentences": [sentence("kept")]},
        {"kind": "paragraph", "text": "c", "sentences": [sentence("quoted")]},
    ]
}


def test_sentences_are_numbered_through_the_article_and_items_stand_in_one_list() -> None:
    groups = block_groups(MARKED)

    assert [each.kind for each in groups] == ["heading", "item", "paragraph"]
    assert [[s.number for b in each.blocks for s in b.sentences] for each in groups] == [[], [1, 2, 3], [4]]
    assert count_verdicts(MARKED).to_look_at == (2, 3)
    assert (count_verdicts(MARKED).carried, count_verdicts(MARKED).total) == (2, 4)


def test_an_address_says_what_a_list_has_and_nonsense_is_ignored() -> None:
    query = DraftQuery.of(
        {"state": "waiting", "author": "me", "age": "7", "q": " cold \0 brew ", "after": "x"}
    )

    assert query == DraftQuery("waiting", "", 7, "cold brew", "")
    assert query.address(after=ID) == f"?q=cold+brew&state=waiting&age=7&after={ID}"
    assert DraftQuery().address() == "?"
    now = datetime(2026, 11, 28, tzinfo=UTC)
    assert query.filters(now)["since_before"] == datetime(2026, 11, 21, tzinfo=UTC)
    assert DraftQuery().filters(now) == {"state": None, "author": None, "q": None, "since_before": None}


def test_a_time_is_the_readers_and_one_that_the_clocks_skip_is_refused() -> None:
    at = time_in_zone("2027-03-01T09:00", "Europe/Berlin")

    assert at is not None
    assert at.isoformat() == "2027-03-01T09:00:00+01:00"
    assert time_in_zone("2027-03-28T02:30", "Europe/Berlin") is None
    assert time_in_zone("tomorrow", "Europe/Berlin") is None
    assert time_in_zone("2027-03-01T09:00", "Nowhere/Land") is None


def test_a_form_names_each_draft_once_with_the_version_that_was_seen() -> None:
    assert chosen_drafts([f"{ID}:2", f"{ID}:3", "x:1", f"{OTHER}:", f"{OTHER}:٣", OTHER]) == [
        ChosenDraft(ID, 2)
    ]
