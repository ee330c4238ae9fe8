"""The compared systems: our worker, and the programs in benchmarks/peers with an environment of their own."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.systems import programs
from benchmarks.systems.programs import System

_HOME: Final = Path(__file__).parents[3]
_PEERS: Final = _HOME / "peers"
_INTERPRETER: Final = _HOME.parent / ".venv-peers" / "bin" / "python"
_ALL: Final = ("T0", "T1", "T2")
_FINAL: Final = ("T2",)

_KNOWN: Final = (
    # name, program, kind, guess of messages/s at T2, tiers, feeding
    ("raw_batched", "raw_batched.py", "loop", 8_000.0, _FINAL, "plain"),
    ("raw_single", "raw_single.py", "broker", 700.0, _ALL, "plain"),
    ("faststream", "faststream_peer.py", "broker", 600.0, _ALL, "plain"),
    ("celery", "celery_peer.py", "broker", 400.0, _ALL, ""),
    ("dramatiq", "dramatiq_peer.py", "broker", 400.0, _ALL, "dramatiq"),
    ("taskiq", "taskiq_peer.py", "broker", 500.0, _ALL, ""),
    # A queue in the database is always durable, so the weaker tiers would measure the same again.
    ("pgqueuer", "pgqueuer_peer.py", "database", 600.0, _FINAL, "itself"),
    ("procrastinate", "procrastinate_peer.py", "database", 200.0, _FINAL, ""),
    ("dbos", "dbos_peer.py", "database", 150.0, _FINAL, ""),
)
NAMES: Final = ("ours", *(name for name, *_ in _KNOWN))


class UnknownSystemError(ValueError):
    pass


def choose(names: Sequence[str]) -> tuple[list[System], dict[str, str]]:
    """Returns the named systems, ours always first, or all without names; and the missing ones with the reason.

    Raises:
        UnknownSystemError: a name is unknown.
    """
    if unknown := set(names) - set(NAMES):
        raise UnknownSystemError(f"no system {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    chosen, left_out = [programs.ours()], {}
    for name, program, kind, guess, tiers, feeding in _KNOWN:
        if names and name not in names:
            continue
        if reason := _missing(_PEERS / program):
            left_out[name] = reason
        else:
            command = (str(_INTERPRETER), str(_PEERS / program))
            chosen.append(System(name, command, kind, guess, tiers, {"PYTHONPATH": ""}, feeding))
    return chosen, left_out


def of_chains() -> list[System]:
    """The peers for `outbox_chain`, if they are installed."""
    program = _PEERS / "faststream_outbox_peer.py"
    if _missing(program):
        return []
    command = (str(_INTERPRETER), str(program))
    return [System("faststream_outbox", command, "broker", 500.0, _FINAL, {"PYTHONPATH": ""})]


def versions() -> dict[str, str]:
    """The peers' packages and versions; empty without their environment."""
    if not _INTERPRETER.exists():
        return {}
    done = subprocess.run(
        [str(_INTERPRETER), "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return dict(line.split("==", 1) for line in done.stdout.splitlines() if "==" in line)


def _missing(program: Path) -> str | None:
    if not program.exists():
        return f"{program.name} is not there"
    if not _INTERPRETER.exists():
        return "its environment is not there; make it with benchmarks/setup-peers.sh"
    return None
