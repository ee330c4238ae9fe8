"""What becomes of work that was under way at the former installation. Pure: no I/O, no clock.

Nothing goes on by itself: keywords that were not written are cancelled, articles that were on their way to a page or a channel end there,
and schedules are paused. Drafts wait for a person as before.
"""

from collections.abc import Collection
from typing import Final

from orchestrator.brand_parts.rows import (
    ContentPartRow,
    KeywordPartRow,
    PlacementPartRow,
    PostResultRow,
    SchedulePartRow,
    SetbackRow,
)

MOVED: Final = "the brand moved to another installation before this was done"


def arriving_keyword(keyword: KeywordPartRow, channels: Collection[str]) -> KeywordPartRow:
    """A keyword of a cycle with these channels. The facts are such that `cycles.facts.Keyword` derives the same state from them."""
    match keyword.state:
        case "queued" | "writing":
            return keyword.model_copy(update={"state": "cancelled", "cancelled": True, "reason": MOVED})
        case "publishing":
            setbacks = {**keyword.setbacks, "publishing": SetbackRow(reason=MOVED)}
            return keyword.model_copy(update={"state": "failed", "setbacks": setbacks, "reason": MOVED})
        case "promoting":
            answered = {post.platform for post in keyword.posts}
            missing = tuple(
                PostResultRow(platform=channel, reason=MOVED)
                for channel in channels
                if channel not in answered
            )
            reason = f"not posted on {', '.join(each.platform for each in missing)}: {MOVED}"
            return keyword.model_copy(
                update={"state": "completed", "posts": (*keyword.posts, *missing), "reason": reason}
            )
        case _:
            return keyword


def moving_keyword(keyword: KeywordPartRow, channels: Collection[str]) -> tuple[KeywordPartRow, bool]:
    """A keyword of a brand that moves, and whether it awaits its turn. One at research is researched anew here.

    Posts that have no answer yet arrive with the brand, so that they answer here.
    """
    match keyword.state:
        case "queued" | "writing":
            return keyword, True
        case "promoting":
            return keyword, False
        case _:
            return arriving_keyword(keyword, channels), False


def arriving_content(content: ContentPartRow) -> ContentPartRow:
    placements = tuple(_arriving_placement(each) for each in content.placements)
    return content.model_copy(update={"placements": placements})


def _arriving_placement(placement: PlacementPartRow) -> PlacementPartRow:
    if placement.state != "asked":
        return placement
    return placement.model_copy(update={"state": "failed", "reason": MOVED})


def arriving_schedule(schedule: SchedulePartRow) -> SchedulePartRow:
    if schedule.state != "active":
        return schedule
    return schedule.model_copy(update={"state": "paused"})
