"""One decision about several things, such as the approval of drafts."""

from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

import typer

from brandctl.errors import CommandError
from brandctl.terminal import note, print_json


def decide_each(
    ids: Collection[UUID],
    decide: Callable[[UUID], dict[str, Any]],
    describe: Callable[[dict[str, Any]], str],
    *,
    as_json: bool,
) -> None:
    """Decides about each and prints the outcome. With one id, the JSON is the service's answer.

    Raises:
        CommandError: there is one id, and the service refuses.
        typer.Exit: with code 1, if the service refuses any of several; the others are decided all the same.
    """
    if len(ids) == 1:
        (one,) = ids
        answer = decide(one)
        if as_json:
            print_json(answer)
        else:
            note(describe(answer))
        return
    done: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for each in ids:
        try:
            answer = decide(each)
        except CommandError as error:
            refused.append({"id": str(each), "detail": str(error)})
            note(f"{each}: {error}")
        else:
            done.append(answer)
            if not as_json:
                note(describe(answer))
    if as_json:
        print_json({"done": done, "refused": refused})
    note(f"{len(done)} of {len(ids)} done" + (f", {len(refused)} refused" if refused else ""))
    if refused:
        raise typer.Exit(1)
