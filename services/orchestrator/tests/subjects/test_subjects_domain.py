"""Which keywords are one subject, and what follows for the one that comes second."""

from uuid import UUID

import pytest

from orchestrator.subjects.domain import (
    FollowerVerdict,
    HolderState,
    Subject,
    SubjectArticle,
    SubjectOutcome,
    decide_followers,
    decide_turn,
    describe_article,
)
from orchestrator.subjects.keys import SubjectKey, key_of

KEY = SubjectKey("coldbrew")
ONE, OTHER = (UUID(int=1), 1), (UUID(int=1), 2)
PAGE = SubjectArticle(UUID(int=9), "cold brew", "http://site.test/cold-brew")


@pytest.mark.parametrize(
    "spellings",
    [
        ("cold brew", "Cold  Brews", "cold-brew", "COLD_BREW?", "coldbrew", "“cold brew”", "cold\u2011brew"),
        ("barista's guide", "baristas guide", "Barista\u2019s Guides"),
        ("tea and coffee", "Coffee & Teas"),
        ("Postgres vs MySQL", "mysql versus postgres", "MySQL vs. Postgres"),
        ("boxes", "box"),
        ("cache invalidation", "Caches: invalidation"),
        ("house", "houses"),
        ("virus", "viruses"),
        ("berry", "berries"),
        ("cookie", "cookies"),
        ("potato", "potatoes"),
        ("shoe", "shoes"),
        ("sandwich", "sandwiches"),
        ("mouse", "mice"),
        ("REST APIs", "rest api"),
        ("\uff43\uff4f\uff4c\uff44 brew", "cold brew"),
    ],
)
def test_spellings_of_one_subject_have_one_key(spellings: tuple[str, ...]) -> None:
    assert len({key_of(spelling, "en-GB") for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("milk chocolate", "chocolate milk"),
        ("brewing coffee", "brewed coffee"),
        ("train station", "training station"),
        ("C", "C++"),
        ("C", "C#"),
        (".NET", "net"),
        ("python 3.11", "python 311"),
        ("python 3 11", "python 311"),
        ("iPhone 15", "iPhone 16"),
        ("http", "https"),
        ("new paper", "news paper"),
        ("US tax", "use tax"),
        ("POS", "pose"),
        ("vitamin a", "vitamin"),
        ("backup before upgrade", "backup after upgrade"),
        ("tea and coffee", "tea vs coffee"),
        ("咖啡", "コーヒー"),
    ],
)
def test_subjects_that_a_reader_tells_apart_have_keys_of_their_own(one: str, other: str) -> None:
    assert key_of(one, "en") != key_of(other, "en")


def test_plurals_are_folded_where_their_rules_are_known() -> None:
    assert key_of("kaffet", "sv") != key_of("kaffe", "sv")
    assert key_of("Filter-Kaffee", "de") == key_of("filter kaffee", "de")


def test_no_keyword_is_without_a_key() -> None:
    assert key_of("?!", "en") == "2:?!"


@pytest.mark.parametrize(
    ("subject", "outcome"),
    [
        (Subject(KEY), SubjectOutcome.GOES),
        (Subject(KEY, PAGE, ONE, "cold brew", HolderState.IN_THE_MAKING), SubjectOutcome.STANDS),
        (Subject(KEY, None, ONE, "cold brew", HolderState.IN_THE_MAKING), SubjectOutcome.WAITS),
        (Subject(KEY, None, OTHER, "cold brew", HolderState.IN_THE_MAKING), SubjectOutcome.GOES),
        (Subject(KEY, None, ONE, "cold brew", HolderState.REFUSED, "too little"), SubjectOutcome.GOES),
        (Subject(KEY, None, ONE, "cold brew", HolderState.FAILED, "broken", tries=5), SubjectOutcome.GOES),
        (Subject(KEY, None, ONE, "cold brew", HolderState.LET_GO), SubjectOutcome.GOES),
    ],
)
def test_whoever_hands_in_a_subject_again_gets_a_new_try_unless_it_stands_or_is_made(
    subject: Subject, outcome: SubjectOutcome
) -> None:
    assert decide_turn(subject, OTHER) is outcome


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (Subject(KEY, PAGE, ONE, "cold brew", HolderState.IN_THE_MAKING), FollowerVerdict.COMPLETE),
        (Subject(KEY, None, ONE, "cold brew", HolderState.IN_THE_MAKING), FollowerVerdict.WAIT),
        (Subject(KEY, None, ONE, "cold brew", HolderState.REFUSED, "too little"), FollowerVerdict.REFUSE),
        (
            Subject(KEY, None, ONE, "cold brew", HolderState.FAILED, "broken", tries=0),
            FollowerVerdict.TAKE_TURNS,
        ),
        (Subject(KEY, None, ONE, "cold brew", HolderState.FAILED, "broken", tries=1), FollowerVerdict.FAIL),
        (Subject(KEY, None, ONE, "cold brew", HolderState.LET_GO), FollowerVerdict.TAKE_TURNS),
        (Subject(KEY), FollowerVerdict.TAKE_TURNS),
    ],
)
def test_whoever_waits_ends_as_the_one_before_it_or_has_a_try_of_its_own(
    subject: Subject, expected: FollowerVerdict
) -> None:
    assert decide_followers(subject) is expected


def test_it_is_said_where_the_article_stands_and_under_what_name() -> None:
    draft = SubjectArticle(PAGE.content_id, "cold brew", None)

    assert describe_article(PAGE, "cold brew") == "its article stands already (http://site.test/cold-brew)"
    assert describe_article(PAGE, "Cold Brews") == (
        "“cold brew” is the same subject: its article stands already (http://site.test/cold-brew)"
    )
    assert (
        describe_article(draft, "cold brew")
        == f"its article waits to be published (/v1/drafts/{PAGE.content_id})"
    )
