"""Canary replays: waits for one, and says how far it is."""

import time
from collections.abc import Mapping
from typing import Any, Final

from brandctl.commands import Result
from brandctl.terminal import note
from client.services.monitor import Monitor

_PAUSE: Final = 1.0
_ENDS: Final = {
    "done": "all are replayed, and each has an outcome",
    "silent": "stopped: nothing was heard of a replay for a day",
    "stopped": "stopped by a person",
}


def show_canary(monitor: Monitor, begun: Mapping[str, Any], timeout: float) -> Result:
    """Waits up to `timeout` seconds for its end; exit code 1 unless it is done, or was not waited for."""
    canary = begun
    deadline = time.monotonic() + timeout
    while canary["state"] == "running" and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(_PAUSE, left))
        step = canary["step"]
        canary = monitor.get_canary_replay(canary["id"])
        if canary["step"] != step:
            note(f"step {canary['step']}: {_progress(canary)}")
    told = f"{_progress(canary)}; {_end(canary)}"
    well = canary["state"] == "done" or (canary["state"] == "running" and not timeout)
    return Result({"canary": dict(canary)}, remark=told, fails=not well)


def _progress(canary: Mapping[str, Any]) -> str:
    return (
        f"{canary['replayed']:,} of {canary['total']:,} sent again, {canary['waiting']:,} without an outcome"
    )


def _end(canary: Mapping[str, Any]) -> str:
    if canary["state"] == "came_back":
        return f"stopped: the same failure came back, brandctl dead-letters show {canary['came_back']}"
    if canary["state"] == "running":
        return "it runs; the same command with --wait follows it"
    return _ENDS.get(canary["state"], str(canary["state"]))
