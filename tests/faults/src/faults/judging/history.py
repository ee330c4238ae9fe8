"""The client's history in order, in a file that the system under test cannot reach."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from faults.workers.behaviours import EFFECT


@dataclass(frozen=True, slots=True)
class SubmittedCommand:
    """One command as it was submitted."""

    id: str
    """Its `event_id`; for bytes that are no envelope, `body:` and a digest of them."""
    queue: str
    brand: str = ""
    keyword: str = ""
    correlation_id: str | None = None
    expect: str = EFFECT
    """`effect`, the reason of the dead letter that it must become, or `any`."""
    attempts: int = 1
    """Attempts that may be counted against it."""
    replay_of: str | None = None
    """The command whose dead letter this one replays."""


class CommandHistory:
    """Append-only: `invoke`, then `ok` or `info` per command; faults; discarded dead letters.

    `ok` says that the broker confirmed the command. A timeout, a lost confirm or a lost connection is `info`: the
    command may have arrived. There is no `fail`, because a client can never know that.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.commands: dict[str, SubmittedCommand] = {}
        self.accepted: set[str] = set()
        self.discarded: set[str] = set()
        self.faults: Counter[str] = Counter()
        self._file = path.open("a", buffering=1) if path else None

    @classmethod
    def read(cls, path: Path) -> Self:
        """A history from its file."""
        history = cls()
        for line in path.read_text().splitlines():
            history._take(json.loads(line))
        return history

    @property
    def in_doubt(self) -> set[str]:
        """Invoked commands that may or may not have arrived."""
        return self.commands.keys() - self.accepted

    def invoke(self, command: SubmittedCommand) -> None:
        self._tell("invoke", **asdict(command))

    def ok(self, command_id: str) -> None:
        self._tell("ok", id=command_id)

    def info(self, command_id: str, why: str) -> None:
        self._tell("info", id=command_id, why=why)

    def fault(self, name: str, times: int = 1) -> None:
        """A fault has really happened: told after the fact, by who saw it happen."""
        self._tell("fault", name=name, times=times)

    def discard(self, command_id: str) -> None:
        """The operator has discarded the dead letter of a command."""
        self._tell("discard", id=command_id)

    def note(self, what: str, /, **facts: object) -> None:
        """Something worth reading when a run has failed; means nothing to the checker."""
        self._tell("note", **{**facts, "note": what})

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _tell(self, op: str, /, **facts: object) -> None:
        entry = {"op": op, "at": time.time(), **facts}
        if self._file is not None:
            self._file.write(json.dumps(entry, default=str) + "\n")
        self._take(entry)

    def _take(self, entry: Mapping[str, Any]) -> None:
        match entry["op"]:
            case "invoke":
                facts = {name: value for name, value in entry.items() if name not in {"op", "at"}}
                self.commands.setdefault(entry["id"], SubmittedCommand(**facts))
            case "ok":
                self.accepted.add(entry["id"])
            case "discard":
                self.discarded.add(entry["id"])
            case "fault":
                self.faults[entry["name"]] += entry["times"]
            case _:
                pass  # info and notes change nothing that is known
