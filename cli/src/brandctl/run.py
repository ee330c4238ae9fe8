"""Runs the whole system on one machine, and keeps its data: each run continues where the last one stopped."""

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from brandctl import signals
from brandctl.local import backups, ports, processes
from brandctl.local.folder import LocalFolder
from brandctl.local.stack import LocalStack, started
from brandctl.local.start_link import console_address
from brandctl.settings_file import read_settings
from brandctl.terminal import say

_SAMPLE_CORPUS: Final = "deploy/demo/corpus"
_PATHS: Final = ("CORPUS", "PUBLISH_FOLDER")
"""Settings that name a folder; a relative path begins at the settings file, as with Docker Compose."""
_CHECK_SECONDS: Final = 0.5
_LOG_BYTES: Final = 10_000_000
_OLD_LOGS: Final = 2
_FIRST_DELAY_SECONDS: Final = 1.0
_LONGEST_DELAY_SECONDS: Final = 60.0
_STABLE_AFTER_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of the run.

    Args:
        folder: `.local`; the data go to `data/` in it.
        settings: a file as for `make up`; may be missing.
    """

    folder: Path
    settings: Path


def run(options: RunOptions, console: Console) -> None:
    """Runs everything until a signal ends it.

    Raises:
        FolderInUseError, NotInstalledError, PortTakenError, StartError, OSError: it cannot run; the message says why.
        Interrupted: a signal ended it before all was up.
    """
    folder = LocalFolder(options.folder, keeps=True)
    with signals.raised(), folder.held():
        settings = take_settings(options.settings)
        corpus = Path(os.environ.get("CORPUS") or _SAMPLE_CORPUS)
        if not corpus.is_dir():
            raise processes.StartError(
                f"CORPUS={corpus} is no folder; give one with .md, .txt or .html documents"
            )
        if left := folder.clean():
            say(console, f"Ended what an earlier run left behind: {', '.join(left)}", "yellow")
        say(console, f"Going on with the data in {folder.run}" if folder.has_begun else "Starting anew")
        try:
            with started(folder, corpus, console, lambda _: _own_variables(folder, settings)) as stack:
                _show(stack, options)
                supervisor = ServiceSupervisor(stack, options.settings)
                try:
                    while True:
                        signals.check()
                        supervisor.check(time.monotonic())
                        time.sleep(_CHECK_SECONDS)
                except signals.Interrupted:
                    return
        finally:
            folder.forget()


def take_settings(path: Path) -> Mapping[str, str]:
    """Sets the variables of a settings file that are not set yet; returns those of the file.

    Raises:
        StartError: the file is there and cannot be read.
    """
    if not path.exists():
        return {}
    try:
        settings = {name: value for name, value in read_settings(path).items() if value}
    except (OSError, ValueError) as error:
        raise processes.StartError(f"the settings in {path} cannot be read: {error}") from error
    for name in settings.keys() & set(_PATHS):
        settings[name] = str(path.resolve().parent / settings[name])
    if "RABBITMQ_UI_PORT" in settings:
        settings.setdefault("RABBITMQ_MANAGEMENT_PORT", settings["RABBITMQ_UI_PORT"])
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    return settings


def _own_variables(folder: LocalFolder, settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The containers' settings, by service."""
    # Of the file alone: a shell that has read the addresses of an earlier run has these variables too.
    public = {
        service: {"PUBLIC_URL": settings[variable]}
        for service, variable in (("publisher", "PUBLISHER_URL"), ("social", "SOCIAL_URL"))
        if variable in settings
    }
    bind = {"HTTP_HOST": os.environ["PUBLIC_BIND"]} if os.environ.get("PUBLIC_BIND") else {}
    return {
        "console": {name: value for name, value in settings.items() if name == "CONSOLE_URL"},
        "publisher": public.get("publisher", {}) | bind,
        "social": public.get("social", {}) | bind,
        "monitor": {"BACKUP_RECORD": str(backups.record_of(folder))},
    }


def _show(stack: LocalStack, options: RunOptions) -> None:
    url, folder = stack.addresses.url, stack.folder
    settings = options.settings if options.settings.exists() else f"none; {options.settings} may hold some"
    broker = "where RABBITMQ_URL says"
    if stack.broker:
        broker = f"http://{ports.LOOPBACK}:{stack.broker.management_port}/  (brand, RABBITMQ_PASSWORD of {folder.settings})"
    say(
        stack.console,
        f"""
Everything is up. `make stop`, or Ctrl-C here, ends it; `make run` goes on with its data.

  Console    {console_address(stack)}
  API        {url("orchestrator")}/docs
  Site       {url("publisher")}/
  Posts      {url("social")}/
  Monitor    {url("monitor")}/docs
  RabbitMQ   {broker}

Hand in keywords, in another terminal, and look after it:

  ./brandctl brands set acme --name Acme
  ./brandctl submit acme "cold brew" "moka pot" --wait
  ./brandctl --help

  Settings   {settings}
  Data       {folder.run}     copy them: make backup BACKUP=folder
  Logs       {folder.logs}
  For a shell, addresses and service key: . {folder.settings}
""",
    )


def restart_delay(before: float | None, ran_for: float) -> float:
    """Seconds until a service that ended starts again: doubled each time, from 1 to 60, unless it ran well in between.

    Args:
        before: the delay of the last time, if there was one.
        ran_for: seconds since it was started.
    """
    if before is None or ran_for >= _STABLE_AFTER_SECONDS:
        return _FIRST_DELAY_SECONDS
    return min(2 * before, _LONGEST_DELAY_SECONDS)


class ServiceSupervisor:
    """Starts again what ended unexpectedly, limits the logs, and makes the backups that are asked for."""

    def __init__(self, stack: LocalStack, settings: Path) -> None:
        self._stack = stack
        self._settings = settings
        self._delays: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._due: dict[str, float] = {}

    def check(self, now: float) -> None:
        """Looks after everything once.

        Args:
            now: a monotonic clock, in seconds.

        Raises:
            StartError: a server ended and could not be started again.
        """
        self._check_servers()
        for child in list(self._stack.children):
            if not child.running:
                self._check_ended(child, now)
        for log in self._stack.folder.logs.glob("*.log"):
            processes.limit_log(log, most=_LOG_BYTES, kept=_OLD_LOGS)
        if backup := backups.requested_backup(self._stack.folder):
            self._back_up(backup)

    def _check_ended(self, child: processes.ChildProcess, now: float) -> None:
        name = child.name
        if name not in self._due:
            delay = restart_delay(self._delays.get(name), now - self._started.get(name, now))
            self._delays[name], self._due[name] = delay, now + delay
            self._complain(child, f"starts again in {delay:.0f} s")
        elif now >= self._due[name]:
            del self._due[name]
            self._stack.start_service(name)
            self._started[name] = now

    def _check_servers(self) -> None:
        database, broker = self._stack.database, self._stack.broker
        if database and not database.child.running:
            self._complain(database.child, "starts again")
            self._stack.start_database()
        if broker and not broker.child.running:
            self._complain(broker.child, "starts again")
            broker.name_server.stop()
            self._stack.start_broker()

    def _complain(self, child: processes.ChildProcess, what_follows: str) -> None:
        ended = f"{child.name} ended with code {child.process.returncode} and {what_follows}."
        say(self._stack.console, f"{ended} The end of {child.log}:", "red")
        say(self._stack.console, child.log_tail(10))

    def _back_up(self, backup: Path) -> None:
        stack, error = self._stack, None
        say(stack.console, f"Stopping the services for a backup to {backup}")
        stack.stop_services()
        stack.stop_broker()
        try:
            backups.make_backup(stack, backup, self._settings)
        except (backups.BackupError, processes.StartError, OSError) as failed:
            error = str(failed)
        stack.start_broker()
        stack.start_services()
        backups.answer_backup(stack.folder, error)
        say(stack.console, f"There is no backup: {error}" if error else f"The backup is in {backup}")


def stop(folder: LocalFolder) -> int | None:
    """Ends the run that holds the folder, and waits until it has ended; returns its process, None without a run."""
    stopped = None
    while folder.is_held:
        holder = folder.holder()
        if holder is not None and holder != stopped:
            os.kill(holder, signal.SIGTERM)
            stopped = holder
        time.sleep(_CHECK_SECONDS)
    return stopped
