"""How far a cycle is, in words. Orchestrators of earlier versions do not report waiting keywords: the words leave them out."""

import shlex
from typing import TYPE_CHECKING

from brandctl.terminal import printable

if TYPE_CHECKING:
    from client.services.orchestrator import answers


def told(cycle: "answers.CycleSummary") -> str:
    """`67 %, 1 pending, 0 processing, 2 completed, 0 failed of 3; held up: 5 drafts wait for review`."""
    waiting = f" {cycle['waiting']} waiting," if cycle.get("waiting") else ""
    how_far = (
        f"{cycle['percent']} %, {cycle['pending']} pending, {cycle['processing']} processing,{waiting}"
        f" {cycle['completed']} completed, {cycle['failed']} failed of {cycle['total']}"
    )
    parts = [how_far]
    if drafts := cycle.get("drafts_waiting"):
        parts.append(f"{_counted(drafts, 'draft waits', 'drafts wait')} for you")
    if posts := cycle.get("posts_waiting"):
        parts.append(f"posts of {_counted(posts, 'article', 'articles')} wait for you")
    if held_up := cycle.get("held_up"):
        parts.append(_held_up(held_up))
    return "; ".join(parts)


def what_to_look_at(cycle: "answers.CycleSummary") -> list[str]:
    """Returns lines about what waits for a person, each with the command that shows it."""
    brand = shlex.quote(printable(cycle["brand_slug"]))
    held_up, drafts, lines = cycle.get("held_up"), cycle.get("drafts_waiting", 0), []
    if held_up is not None and held_up["drafts"] is not None:
        lines.append(f"{_held_up(held_up)}: brandctl drafts list --brand {brand} --state waiting")
    elif drafts:
        waits = _counted(drafts, "draft waits", "drafts wait")
        lines.append(f"{waits} for you: brandctl drafts list --brand {brand} --state waiting")
    if later := cycle.get("waiting", 0) - drafts:
        lines.append(
            f"{_counted(later, 'article has its time, or is', 'articles have their time, or are')} being written again:"
            f" brandctl drafts list --brand {brand}"
        )
    if posts := cycle.get("posts_waiting"):
        waits = _counted(posts, "article has", "articles have")
        lines.append(f"{waits} posts that wait for you: brandctl posts list --brand {brand}")
    return lines


def _held_up(held_up: "answers.CycleHold") -> str:
    if held_up["drafts"] is None:
        return f"held up: {held_up['reason']}"
    return f"held up: {_counted(held_up['drafts'], 'draft waits', 'drafts wait')} for review"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"
