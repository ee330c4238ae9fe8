"""Child processes that never outlive their parent, and a record of them that survives a crash.

Every child is started through `setpriv --pdeathsig`, so that the kernel itself ends it when the parent dies, be it by
SIGKILL. The kernel ties this to the *thread* that starts the child: start children from the main thread.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_POLL_SECONDS: Final = 0.05


class StartError(RuntimeError):
    """A process did not come up; the message carries the end of its log."""


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A running child with its log file."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def log_tail(self, lines: int = 25) -> str:
        """The last lines of the log, without blank ones."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])

    def wait_until(self, ready: Callable[[], bool], *, within: float) -> None:
        """Waits for `ready`, calling it every 50 ms.

        Raises:
            StartError: the process ended first, or was not ready after so many seconds.
        """
        deadline = time.monotonic() + within
        while not ready():
            if not self.running:
                raise StartError(self._complaint(f"ended with code {self.process.returncode} while starting"))
            if time.monotonic() > deadline:
                raise StartError(self._complaint(f"was not ready after {within:.0f} s"))
            time.sleep(_POLL_SECONDS)

    def ask_to_stop(self) -> None:
        """Sends SIGTERM and does not wait."""
        if self.running:
            self.process.terminate()

    def stop(self, with_signal: signal.Signals | None = signal.SIGTERM, *, grace: float = 10.0) -> None:
        """Asks the process to end and, after `grace` seconds, ends it together with its group.

        Without a signal, an earlier call has sent it: to many programs a second one means "at once".
        """
        if self.running:
            if with_signal is not None:
                self.process.send_signal(with_signal)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(grace)
        # Also other processes that the child has left in its process group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _complaint(self, what: str) -> str:
        return f"{self.name} {what}. The end of its log, {self.log}:\n{self.log_tail() or '(empty)'}"


def start(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str],
    user: str | None = None,
    on_parent_death: signal.Signals = signal.SIGTERM,
    keep_log: bool = False,
) -> ChildProcess:
    """Starts a child in a session of its own, with its output in `log`.

    Args:
        name: the name in messages.
        command: program and arguments.
        log: replaced if it is there.
        env: the whole environment of the child.
        user: user to run as; only root may set one.
        on_parent_death: the signal the kernel sends the child when the parent is gone.
        keep_log: whether the log is continued instead.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    if not keep_log:
        log.write_bytes(b"")
    # Appended to, so that the child goes on at the beginning once `limit_log` has emptied the file.
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command lines, no shell
            [*as_user(user, on_parent_death), *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            # Ctrl-C in a terminal reaches the whole foreground group; the parent stops its children in order.
            start_new_session=True,
            # A folder that every user may enter and that is never removed.
            cwd="/",
        )
    return ChildProcess(name, process, log)


# A parent that dies between the fork and the call that asks for the signal would never cause it. By the time the shell
# runs, the signal is set: if the parent is the right one now, its death will send it.
_ONLY_BELOW: Final = '[ "$PPID" = "$0" ] || exit 1; exec "$@"'


def as_user(user: str | None, on_parent_death: signal.Signals | None = None) -> list[str]:
    """The prefix that runs a command as another user, bound to the life of its parent."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise StartError("setpriv is missing; it is part of the package util-linux")
    identity = [
        f"--reuid={user}",
        f"--regid={user}" if user != "nobody" else "--regid=nogroup",
        "--clear-groups",
    ]
    if on_parent_death is None:
        return [setpriv, *(identity if user else []), "--"]
    death = ["--pdeathsig", on_parent_death.name.removeprefix("SIG")]
    return [setpriv, *(identity if user else []), *death, "--", "sh", "-c", _ONLY_BELOW, str(os.getpid())]


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Identifies a process even if its pid is used again, by start time and boot id."""

    name: str
    pid: int
    started: str
    boot: str


def identify(name: str, pid: int) -> ProcessIdentity | None:
    """Returns the process with this pid, or None."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the command in parentheses and may itself contain blanks and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return None if state == "Z" else ProcessIdentity(name, pid, started, _boot())


def record(path: Path, children: Sequence[ChildProcess]) -> None:
    """Records the running children, for `end_recorded` of a later run."""
    known = [identify(child.name, child.process.pid) for child in children]
    rows = [
        {"name": one.name, "pid": one.pid, "started": one.started, "boot": one.boot} for one in known if one
    ]
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(rows, indent=1) + "\n")
    draft.replace(path)


def end_recorded(path: Path, *, grace: float = 5.0) -> list[str]:
    """Ends the recorded processes of an earlier run that still run; returns their names.

    A process must have the recorded pid, start time and boot; another process with a reused pid is left alone.
    """
    left = [one for one in _read(path) if identify(one.name, one.pid) == one]
    for how in (signal.SIGTERM, signal.SIGKILL):
        running = [one for one in left if identify(one.name, one.pid) == one]
        for one in running:
            with suppress(ProcessLookupError):
                os.kill(one.pid, how)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline and any(identify(one.name, one.pid) == one for one in running):
            time.sleep(_POLL_SECONDS)
    path.unlink(missing_ok=True)
    return [one.name for one in left]


def end_users_of(folder: Path, *programs: str) -> None:
    """Kills these programs where they work in `folder`, and waits until they are gone.

    A process works in it if that is its working folder or its HOME.
    """
    while found := [pid for pid in _pids() if _program(pid) in programs and _works_in(pid, folder)]:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""  # it has ended, or belongs to another user


def _works_in(pid: int, folder: Path) -> bool:
    try:
        if Path(f"/proc/{pid}/cwd").readlink() == folder:
            return True
        return f"HOME={folder}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def limit_log(log: Path, *, most: int, kept: int) -> None:
    """Moves the content of a log of more than `most` bytes to `<log>.1`, and what was there to `.2` and so on, up to `kept`.

    The writer continues in the same file. A line that it writes in this moment may be lost.
    """
    if not log.exists() or log.stat().st_size <= most:
        return
    for number in range(kept, 1, -1):
        older = log.with_name(f"{log.name}.{number - 1}")
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number}"))
    shutil.copyfile(log, log.with_name(f"{log.name}.1"))
    os.truncate(log, 0)


def _read(path: Path) -> list[ProcessIdentity]:
    try:
        rows = json.loads(path.read_text())
        return [ProcessIdentity(**row) for row in rows]
    except (OSError, ValueError, TypeError):
        return []


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
