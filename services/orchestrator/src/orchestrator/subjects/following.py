"""How keywords on one subject come by one article: the first to have its turn takes the subject in hand, the others end as it does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from chassis import Connection
from orchestrator.subjects import store
from orchestrator.subjects.domain import (
    Fate,
    Outcome,
    Place,
    Standing,
    Subject,
    Verdict,
    key_of,
    on_its_turn,
    told,
    told_of_holder,
    verdict,
)
from orchestrator.subjects.store import Follower, Named


@dataclass(frozen=True, slots=True)
class Candidate:
    """A keyword that would be sent to research next."""

    brand_slug: str
    language: str
    """Of the brand."""
    place: Place
    keyword: str


async def take_in_hand(
    connection: Connection, candidates: Sequence[Candidate], room: Mapping[str, int], *, now: datetime
) -> tuple[list[Place], bool]:
    """Those that are to be sent now, in their order: as many of each brand as there is `room` for; and whether others have ended.

    Of the others, those whose article stands have ended, those whose subject is in hand wait for it, and those for which there is no
    room are left as they are.
    """
    await store.key_articles(connection, {each.brand_slug for each in candidates})
    named: dict[Place, Named] = {
        each.place: (each.brand_slug, key_of(each.keyword, each.language)) for each in candidates
    }
    subjects = await store.load_subjects(connection, named.values())
    going: dict[Place, Named] = {}
    claims: dict[Named, tuple[Place | None, Place]] = {}
    following: list[Follower] = []
    ended: list[tuple[Place, Standing, str]] = []
    left = Counter(room)
    for each in candidates:
        name = named[each.place]
        subject = subjects[name]
        match on_its_turn(subject, each.place):
            case Outcome.STANDS:
                assert subject.standing is not None
                ended.append((each.place, subject.standing, told(subject.standing, each.keyword)))
            case Outcome.WAITS:
                following.append(Follower(each.place, each.keyword, name))
            case Outcome.GOES if left[each.brand_slug] > 0:
                left[each.brand_slug] -= 1
                going[each.place] = name
                if subject.holder != each.place:
                    claims[name] = (subject.holder, each.place)
                subjects[name] = replace(subject, holder=each.place, fate=Fate.IN_THE_MAKING)
            case Outcome.GOES:
                pass
            case _ as unreachable:
                assert_never(unreachable)
    lost = set(claims) - await store.claim(connection, claims)
    keywords = {each.place: each.keyword for each in candidates}
    following += [Follower(place, keywords[place], name) for place, name in going.items() if name in lost]
    if following:
        await store.follow(connection, following)
    if ended:
        await store.complete(connection, ended, now)
    return [place for place, name in going.items() if name not in lost], bool(ended)


async def settle(connection: Connection, slugs: Sequence[str], *, now: datetime) -> bool:
    """Ends the keywords of these brands that wait for one that has ended, or has them take their turns; whether any has ended."""
    waited_for = await store.subjects_waited_for(connection, slugs)
    if not waited_for:
        return False
    await store.key_articles(connection, {slug for slug, _ in waited_for})
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
