"""Repeat rules of posts: whether and when the next repetition goes out. Pure: no I/O, no clock, no randomness."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID, uuid5

from chassis.time_zones import zone_called
from social.calendar.slots import AccountSlots, NoSlotError, PostingRules, month_of, week_of
from social.channels import CHANNELS
from social.domain import PostId, PostRefusal
from social.sending.domain import ChannelRules as Wishes
from social.sending.domain import ChannelText, PostMaterial, said

EVERGREEN: Final = "evergreen"
RECURRING: Final = "recurring"
AHEAD: Final = timedelta(days=1)
"""How long before its slot an evergreen post is planned; new posts come first until then."""


@dataclass(frozen=True, slots=True)
class RepeatRule:
    """How often a post is repeated: after a cool-down in free slots, or at times of the week or the month."""

    kind: Literal["evergreen", "recurring"]
    at_most: int
    cool_down: timedelta = timedelta()
    times: PostingRules | None = None

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> "RepeatRule":
        """Parses `{"kind", "at_most", "cool_down_days"}` or `{"kind", "at_most", "times": [{"days", "times"}], "monthly", "time_zone"}`.

        Raises:
            UntimelyError: the zone is unknown.
        """
        if written["kind"] == EVERGREEN:
            return cls(EVERGREEN, written["at_most"], timedelta(days=written["cool_down_days"]))
        week, month = week_of(written["times"]), month_of(written.get("monthly", ()))
        times = PostingRules(zone_called(written["time_zone"]), week, timedelta(minutes=1), month=month)
        return cls(RECURRING, written["at_most"], times=times)

    def times_after(self, last: datetime, now: datetime, rules: PostingRules | None) -> Iterator[datetime]:
        """Times of a recurring post's repetitions by its rule, without the account's quiet hours."""
        assert self.times is not None
        for at in self.times.slots(max(now, last)):
            if rules is None or not rules.is_quiet(at):
                yield at


def repetition_id(post_id: UUID, number: int) -> PostId:
    """The id of a post's `number`th repetition: every replica derives the same id, and so the same receipt and keys."""
    return PostId(uuid5(post_id, str(number)))


def next_time(
    repeat: RepeatRule,
    rules: PostingRules | None,
    taken: Iterable[datetime],
    *,
    last: datetime,
    now: datetime,
    newer_wait: bool,
) -> datetime | None:
    """The time of the next repetition; None if it is not due yet.

    Args:
        repeat: the rule.
        rules: posting rules of the account, if any.
        taken: times of the account's other posts.
        last: time of the post or its last repetition.
        now: the database's time.
        newer_wait: whether new posts of the account wait.
    """
    match repeat.kind:
        case "evergreen":
            if rules is None or not rules.has_slots or newer_wait:
                return None
            try:
                at = AccountSlots(rules, taken).take(max(now, last + repeat.cool_down))
            except NoSlotError:
                return None
            return at if at <= now + AHEAD else None
        case "recurring":
            found = next(repeat.times_after(last, now, rules), None)
            return found if found is None or rules is None else AccountSlots(rules, taken).free_from(found)


def variant(
    channel: str, material: PostMaterial, wishes: Wishes, used: Sequence[str], number: int
) -> ChannelText | PostRefusal:
    """The text of the `number`th repetition, with an opening that earlier texts do not have, if there is one."""
    rules = CHANNELS[channel]
    found: list[ChannelText] = []
    for turn in range(max(1, len(material.story.hooks))):
        text = said(rules.with_style(opening=rules.network.opening + number + turn), material, wishes)
        if isinstance(text, PostRefusal) or text.text not in used:
            return text
        found.append(text)
    return found[0]
