"""Findings from the facts about a brand."""

from datetime import UTC, datetime
from uuid import uuid4

from orchestrator.audits.domain import (
    MOST_OF_A_KIND,
    AuditFacts,
    FindingKind,
    ParkedSchedule,
    PublishedArticle,
    derive_report,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def known(compared: tuple[PublishedArticle, ...] = (), parked: tuple[ParkedSchedule, ...] = ()) -> AuditFacts:
    return AuditFacts(
        stale=(), compared=compared, lost=(), dead=(), drafts=(), parked=parked, pages=(), links=()
    )


def article(title: str, *runs: range) -> PublishedArticle:
    fingerprint = frozenset(number for each in runs for number in each)
    return PublishedArticle(uuid4(), title, f"https://acme.example/{title}", NOW, fingerprint)


def test_articles_that_say_nearly_the_same_are_told_once_each_pair_the_nearest_first() -> None:
    articles = (
        article("other", range(1000, 1100)),
        article("copy", range(100)),
        article("part", range(70)),
        article("first", range(100)),
    )

    found = derive_report("acme", known(compared=articles)).findings

    assert {each.kind for each in found} == {FindingKind.NEAR_DUPLICATE}
    assert sorted((each.subject, each.address) for each in found) == [
        ("copy", "https://acme.example/copy"),
        ("copy", "https://acme.example/copy"),
        ("part", "https://acme.example/part"),
    ]
    # What says nothing but what the other says is as much a copy as one that says all of it.
    assert all("about 100%" in each.advice for each in found)
    assert "(https://acme.example/first)" in found[-1].advice


def test_articles_that_have_two_thirds_in_common_are_near_and_those_with_less_are_not() -> None:
    near = derive_report("acme", known(compared=(article("a", range(100)), article("b", range(30, 130)))))
    apart = derive_report("acme", known(compared=(article("a", range(100)), article("b", range(40, 140)))))

    assert [each.subject for each in near.findings] == ["a"]
    assert "about 70%" in near.findings[0].advice
    assert apart.findings == ()


def test_an_article_without_fingerprint_is_no_copy_of_anything() -> None:
    assert (
        derive_report("acme", known(compared=(article("a"), article("b"), article("c", range(9))))).findings
        == ()
    )


def test_of_a_kind_with_very_many_findings_the_first_are_told_and_that_there_are_more() -> None:
    many = tuple(ParkedSchedule(f"launch-{n}", NOW, "no brand") for n in range(MOST_OF_A_KIND + 1))

    found = derive_report("acme", known(parked=many))

    assert found.counts == dict.fromkeys(FindingKind, 0) | {FindingKind.SCHEDULE_PARKED: MOST_OF_A_KIND}
    assert found.cut == (FindingKind.SCHEDULE_PARKED,)
    assert found.findings[0].subject == "launch-0"
    assert "brandctl schedules resume acme launch-0" in found.findings[0].advice
