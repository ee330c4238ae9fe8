"""How keywords on one subject come by one article: the first to have its turn takes the subject in hand, the others end as it does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never
from uuid import UUID

from chassis import Connection
from orchestrator.subjects import keying, rekeying, store
from orchestrator.subjects.domain import (
    Fate,
    Outcome,
    Place,
    Standing,
    Subject,
    Verdict,
    on_its_turn,
    told,
    told_of_holder,
    verdict,
)
from orchestrator.subjects.former_keys import former_key_of
from orchestrator.subjects.keys import SubjectKey
from orchestrator.subjects.store import Follower, Named


@dataclass(frozen=True, slots=True)
class Candidate:
    """A keyword that would be sent to research next."""

    brand_slug: str
    language: str
    """Of the brand."""
    place: Place
    keyword: str
    refresh: bool = False
    """Whether it writes an article that stands anew."""
    is_distinct: bool = False
    """Whether it is a subject of its own, whatever it folds with."""


@dataclass(frozen=True, slots=True)
class Taken:
    going: Mapping[Place, UUID | None]
    """The keywords that are to be sent now, with the article that they write anew, if they do."""
    others_ended: bool


async def take_in_hand(
    connection: Connection, candidates: Sequence[Candidate], room: Mapping[str, int], *, now: datetime
) -> Taken:
    """Those that are to be sent now: as many of each brand as there is `room` for.

    Of the others, those whose article stands have ended, those whose subject is in hand wait for it, and those for which there is no
    room are left as they are.
    """
    names = await keying.load_names(connection, {each.brand_slug for each in candidates})
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
        await keying.claim_former(
            connection, [(each.brand_slug, former[each.place], each.place) for each in going], now
        )
    following = chosen.following + [each for each in chosen.going if named[each.place] in lost]
    if following:
        followed = _former_keys_of_holders(following, going, named, subjects, former)
        await store.follow(
            connection,
            [Follower(each.place, each.keyword, named[each.place]) for each in following],
            followed,
        )
    if chosen.ended:
        await store.complete(connection, chosen.ended, now)
    sent = {each.place: chosen.renewals.get(each.place) for each in going}
    if renewals := {place: content_id for place, content_id in sent.items() if content_id is not None}:
        await store.renew(connection, renewals)
    return Taken(sent, others_ended=bool(chosen.ended))


def _former_keys_of_holders(
    following: Sequence[Candidate],
    going: Sequence[Candidate],
    named: Mapping[Place, Named],
    subjects: Mapping[Named, Subject],
    former: Mapping[Place, SubjectKey],
) -> dict[Named, SubjectKey]:
    """By subject, the former key of the keyword that has it in hand."""
    held = {named[each.place]: former[each.place] for each in going}
    for each in following:
        name = named[each.place]
        if name not in held:
            holder = subjects[name].keyword
            held[name] = former_key_of(holder, each.language) if holder else former[each.place]
    return held


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What becomes of each candidate; those for which there is no room are left out."""

    going: list[Candidate] = field(default_factory=list)
    claims: dict[Named, tuple[Place | None, Place]] = field(default_factory=dict)
    renewals: dict[Place, UUID] = field(default_factory=dict)
    following: list[Candidate] = field(default_factory=list)
    ended: list[tuple[Place, Standing, str]] = field(default_factory=list)


def _choose(
    candidates: Sequence[Candidate],
    named: Mapping[Place, Named],
    known: Mapping[Named, Subject],
    room: Mapping[str, int],
) -> _Chosen:
    chosen, subjects, left = _Chosen(), dict(known), Counter(room)
    for each in candidates:
        name = named[each.place]
        subject = subjects[name]
        match on_its_turn(subject, each.place, refresh=each.refresh):
            case Outcome.STANDS:
                assert subject.standing is not None
                chosen.ended.append((each.place, subject.standing, told(subject.standing, each.keyword)))
            case Outcome.WAITS:
                chosen.following.append(each)
            case Outcome.GOES if left[each.brand_slug] > 0:
                left[each.brand_slug] -= 1
                chosen.going.append(each)
                if subject.holder != each.place:
                    chosen.claims[name] = (subject.holder, each.place)
                if subject.standing is not None:
                    chosen.renewals[each.place] = subject.standing.content_id
                subjects[name] = replace(
                    subject,
                    holder=each.place,
                    fate=Fate.IN_THE_MAKING,
                    is_renewed=subject.standing is not None,
                )
            case Outcome.GOES:
                pass
            case _ as unreachable:
                assert_never(unreachable)
    return chosen


async def settle(connection: Connection, slugs: Sequence[str], *, now: datetime) -> bool:
    """Ends the keywords of these brands that wait for one that has ended, or has them take their turns; whether any has ended."""
    waiting = await store.brands_with_followers(connection, slugs)
    if not waiting:
        return False
    await rekeying.rekey_brands(connection, await keying.load_names(connection, waiting))
    waited_for = await store.subjects_waited_for(connection, waiting)
    subjects = await store.load_subjects(connection, waited_for)
    settled = {name: subject for name, subject in subjects.items() if verdict(subject) is not Verdict.WAIT}
    if not settled:
        return False
    completed: list[tuple[Place, Standing, str]] = []
    without: list[tuple[Place, bool, str]] = []
    again: list[Follower] = []
    for each in await store.followers_of(connection, list(settled)):
        subject = settled[each.subject]
        match verdict(subject):
            case Verdict.COMPLETE:
                assert subject.standing is not None
                completed.append((each.place, subject.standing, told(subject.standing, each.keyword)))
            case Verdict.REFUSE:
                without.append((each.place, True, told_of_holder(subject, each.keyword)))
            case Verdict.FAIL:
                without.append((each.place, False, told_of_holder(subject, each.keyword)))
            case Verdict.TAKE_TURNS:
                again.append(each)
            case Verdict.WAIT:
                pass
            case _ as unreachable:
                assert_never(unreachable)
    await store.count_try(connection, _failed(settled))
    await store.complete(connection, completed, now)
    await store.end_without_article(connection, without, now)
    await store.let_take_turns(connection, again)
    return bool(completed or without)


def _failed(subjects: Mapping[Named, Subject]) -> list[Named]:
    return [
        name for name, subject in subjects.items() if subject.standing is None and subject.fate is Fate.FAILED
    ]
