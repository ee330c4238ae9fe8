"""Gives the keywords of one subject one article: the first with a turn holds the subject, the others end as it does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never
from uuid import UUID

from chassis import Connection
from orchestrator.subjects import rekeying, store, stored_keys
from orchestrator.subjects.domain import (
    FollowerVerdict,
    HolderState,
    Place,
    Subject,
    SubjectArticle,
    SubjectOutcome,
    decide_followers,
    decide_turn,
    describe_article,
    describe_holder_end,
)
from orchestrator.subjects.former_keys import former_key_of
from orchestrator.subjects.keys import SubjectKey
from orchestrator.subjects.store import Follower, Named


@dataclass(frozen=True, slots=True)
class Candidate:
    """A keyword that may be sent to research next."""

    brand_slug: str
    language: str
    """The brand's language."""
    place: Place
    keyword: str
    refresh: bool = False
    """True if it rewrites an existing article."""
    is_distinct: bool = False
    """True if it was submitted as a subject of its own."""


@dataclass(frozen=True, slots=True)
class DispatchedKeywords:
    going: Mapping[Place, UUID | None]
    """The keywords to send now, with the id of the article that they rewrite, if any."""
    others_ended: bool


async def claim_subjects(
    connection: Connection, candidates: Sequence[Candidate], room: Mapping[str, int], *, now: datetime
) -> DispatchedKeywords:
    """Claims subjects for as many keywords of each brand as `room` allows; returns those to send.

    Of the others, keywords with an existing article end, and keywords of a held subject wait for its holder. Keywords
    without room stay as they are.
    """
    names = await stored_keys.load_names(connection, {each.brand_slug for each in candidates})
    await rekeying.rekey_brands(connection, names)
    named = {
        each.place: (each.brand_slug, names[each.brand_slug].key(each.keyword, is_distinct=each.is_distinct))
        for each in candidates
    }
    subjects = await store.load_subjects(connection, named.values())
    chosen = _choose(candidates, named, subjects, room)
    lost = set(chosen.claims) - await store.claim(connection, chosen.claims)
    going = [each for each in chosen.going if named[each.place] not in lost]
    former = {each.place: former_key_of(each.keyword, each.language) for each in candidates}
    if going:
        await stored_keys.claim_former(
            connection, [(each.brand_slug, former[each.place], each.place) for each in going], now
        )
    following = chosen.following + [each for each in chosen.going if named[each.place] in lost]
    if following:
        followed = _former_keys_of_holders(following, going, named, subjects, former)
        await store.add_followers(
            connection,
            [Follower(each.place, each.keyword, named[each.place]) for each in following],
            followed,
        )
    if chosen.ended:
        await store.complete(connection, chosen.ended, now)
    sent = {each.place: chosen.renewals.get(each.place) for each in going}
    if renewals := {place: content_id for place, content_id in sent.items() if content_id is not None}:
        await store.note_rewrites(connection, renewals)
    return DispatchedKeywords(sent, others_ended=bool(chosen.ended))


def _former_keys_of_holders(
    following: Sequence[Candidate],
    going: Sequence[Candidate],
    named: Mapping[Place, Named],
    subjects: Mapping[Named, Subject],
    former: Mapping[Place, SubjectKey],
) -> dict[Named, SubjectKey]:
    """Returns by subject the former key of its holder."""
    held = {named[each.place]: former[each.place] for each in going}
    for each in following:
        name = named[each.place]
        if name not in held:
            holder = subjects[name].keyword
            held[name] = former_key_of(holder, each.language) if holder else former[each.place]
    return held


@dataclass(frozen=True, slots=True)
class _CandidateDecisions:
    """The decision about each candidate; those without room are left out."""

    going: list[Candidate] = field(default_factory=list)
    claims: dict[Named, tuple[Place | None, Place]] = field(default_factory=dict)
    renewals: dict[Place, UUID] = field(default_factory=dict)
    following: list[Candidate] = field(default_factory=list)
    ended: list[tuple[Place, SubjectArticle, str]] = field(default_factory=list)


def _choose(
    candidates: Sequence[Candidate],
    named: Mapping[Place, Named],
    known: Mapping[Named, Subject],
    room: Mapping[str, int],
) -> _CandidateDecisions:
    chosen, subjects, left = _CandidateDecisions(), dict(known), Counter(room)
    for each in candidates:
        name = named[each.place]
        subject = subjects[name]
        match decide_turn(subject, each.place, refresh=each.refresh):
            case SubjectOutcome.STANDS:
                assert subject.standing is not None
                chosen.ended.append(
                    (each.place, subject.standing, describe_article(subject.standing, each.keyword))
                )
            case SubjectOutcome.WAITS:
                chosen.following.append(each)
            case SubjectOutcome.GOES if left[each.brand_slug] > 0:
                left[each.brand_slug] -= 1
                chosen.going.append(each)
                if subject.holder != each.place:
                    chosen.claims[name] = (subject.holder, each.place)
                if subject.standing is not None:
                    chosen.renewals[each.place] = subject.standing.content_id
                subjects[name] = replace(
                    subject,
                    holder=each.place,
                    fate=HolderState.IN_THE_MAKING,
                    is_renewed=subject.standing is not None,
                )
            case SubjectOutcome.GOES:
                pass
            case _ as unreachable:
                assert_never(unreachable)
    return chosen


async def settle_followers(connection: Connection, slugs: Sequence[str], *, now: datetime) -> bool:
    """Ends keywords of these brands that waited for an ended one, or has them take turns; returns True if any ended."""
    waiting = await store.brands_with_followers(connection, slugs)
    if not waiting:
        return False
    await rekeying.rekey_brands(connection, await stored_keys.load_names(connection, waiting))
    waited_for = await store.subjects_waited_for(connection, waiting)
    subjects = await store.load_subjects(connection, waited_for)
    settled = {
        name: subject
        for name, subject in subjects.items()
        if decide_followers(subject) is not FollowerVerdict.WAIT
    }
    if not settled:
        return False
    completed: list[tuple[Place, SubjectArticle, str]] = []
    without: list[tuple[Place, bool, str]] = []
    again: list[Follower] = []
    for each in await store.find_followers(connection, list(settled)):
        subject = settled[each.subject]
        match decide_followers(subject):
            case FollowerVerdict.COMPLETE:
                assert subject.standing is not None
                completed.append(
                    (each.place, subject.standing, describe_article(subject.standing, each.keyword))
                )
            case FollowerVerdict.REFUSE:
                without.append((each.place, True, describe_holder_end(subject, each.keyword)))
            case FollowerVerdict.FAIL:
                without.append((each.place, False, describe_holder_end(subject, each.keyword)))
            case FollowerVerdict.TAKE_TURNS:
                again.append(each)
            case FollowerVerdict.WAIT:
                pass
            case _ as unreachable:
                assert_never(unreachable)
    await store.count_try(connection, _failed(settled))
    await store.complete(connection, completed, now)
    await store.end_without_article(connection, without, now)
    await store.requeue(connection, again)
    return bool(completed or without)


def _failed(subjects: Mapping[Named, Subject]) -> list[Named]:
    return [
        name
        for name, subject in subjects.items()
        if subject.standing is None and subject.fate is HolderState.FAILED
    ]
