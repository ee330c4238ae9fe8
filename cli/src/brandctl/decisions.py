"""One decision about several things, such as the approval of drafts."""

from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

from brandctl.commands import Result
from brandctl.errors import FAILURES
from brandctl.terminal import note


def decide_each(
    ids: Collection[UUID], decide: Callable[[UUID], Any], describe: Callable[[Any], str], *, as_json: bool
) -> Result:
    """Decides about each; returns the outcome, which is described at once without JSON. With one id, the answer is the service's.

    If the service refuses any of several, the others are decided all the same.

    Raises:
        CommandError, ClientError: there is one id, and the service refuses.
    """
    if len(ids) == 1:
        (one,) = ids
        answer = decide(one)
        return Result(answer, note=describe(answer))
    done: list[Any] = []
    refused: list[dict[str, str]] = []
    for each in ids:
        try:
            answer = decide(each)
        except FAILURES as error:
            refused.append({"id": str(each), "detail": str(error)})
            note(f"{each}: {error}")
        else:
            done.append(answer)
            if not as_json:
                note(describe(answer))
    summary = f"{len(done)} of {len(ids)} done" + (f", {len(refused)} refused" if refused else "")
    return Result({"done": done, "refused": refused}, remark=summary, fails=bool(refused))
