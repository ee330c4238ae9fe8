"""`brandctl run`, `stop`, `backup` and `restore`: the commands. They import what they need only when they run: that takes a second."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from brandctl.errors import FAILURES
from brandctl.terminal import note, say

_Folder = Annotated[Path, typer.Option(help="Folder for data, logs and the addresses of the run.")]
_Settings = Annotated[
    Path,
    typer.Option("--settings", envvar="ENV_FILE", help="The settings, as for `make up`; see .env.example."),
]
_FOLDER = Path(".local")
_SETTINGS = Path(".env")


def run_system(folder: _Folder = _FOLDER, settings: _Settings = _SETTINGS) -> None:
    """Runs everything on this machine without containers, and continues with the data of the last run.

    Starts a private RabbitMQ and a private PostgreSQL (or uses RABBITMQ_URL and POSTGRES_URL) and the services, and
    starts again what ends unexpectedly. Ctrl-C or `brandctl stop` ends everything that it started.
    """
    from brandctl import run  # noqa: PLC0415

    with reported("The system cannot run"):
        run.run(run.RunOptions(folder, settings), Console(highlight=False))


def stop_system(folder: _Folder = _FOLDER) -> None:
    """Ends the local run from another terminal, in order, and waits until it has ended."""
    from brandctl import run  # noqa: PLC0415
    from brandctl.local.folder import LocalFolder  # noqa: PLC0415

    stopped = run.stop(LocalFolder(folder))
    note(f"The run of process {stopped} has ended" if stopped else f"Nothing runs in {folder.resolve()}")


def back_up(
    backup: Annotated[Path, typer.Argument(help="A new folder, which nobody else may read.")],
    folder: _Folder = _FOLDER,
    settings: _Settings = _SETTINGS,
) -> None:
    """Copies what the local run keeps, while it runs or not; its services are stopped meanwhile.

    GATEWAY_KEYS, which open the keys of providers, are not in it.
    """
    from brandctl.local import backups  # noqa: PLC0415
    from brandctl.local.folder import LocalFolder  # noqa: PLC0415
    from brandctl.local.stack import LocalStack  # noqa: PLC0415
    from brandctl.run import take_settings  # noqa: PLC0415

    kept = LocalFolder(folder, keeps=True)
    with reported("There is no backup"):
        if not kept.has_begun:
            raise backups.BackupError(f"there are no data in {kept.run}")
        if backup.exists():
            raise backups.BackupError(f"{backup} must be a new folder")
        if kept.is_held:
            backups.request_backup(kept, backup.resolve())
        else:
            with kept.held():
                take_settings(settings)
                kept.clean()
                stack = LocalStack.stopped(kept, Console(stderr=True, highlight=False))
                try:
                    stack.start_database()
                    backups.make_backup(stack, backup.resolve(), settings)
                finally:
                    stack.stop()
                    kept.forget()
    note(f"The backup is in {backup}")
    note(
        "The keys that open the keys of providers are not in it, and a restore takes them. Keep them in another place:"
    )
    note(f"GATEWAY_KEYS, or else {kept.gateway_keys()}")


def restore(
    backup: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="A folder that `backup` made.")
    ],
    folder: _Folder = _FOLDER,
    settings: _Settings = _SETTINGS,
    new_gateway_keys: Annotated[
        bool,
        typer.Option(
            "--new-gateway-keys", help="They are lost: connected accounts have to be connected anew."
        ),
    ] = False,
) -> None:
    """Brings back what `backup` has copied, where there are no data yet; `run` continues with it.

    GATEWAY_KEYS must be those of the backup.
    """
    from brandctl.local import backups  # noqa: PLC0415
    from brandctl.local.folder import LocalFolder  # noqa: PLC0415
    from brandctl.local.stack import LocalStack  # noqa: PLC0415
    from brandctl.run import take_settings  # noqa: PLC0415

    kept = LocalFolder(folder, keeps=True)
    with reported("Nothing was restored"), kept.held():
        take_settings(settings)
        stack = LocalStack.stopped(kept, Console(stderr=True, highlight=False))
        backups.restore(stack, backup.resolve(), settings, new_gateway_keys=new_gateway_keys)
    note(f"Restored to {kept.run}. Go on with it: make run")


@contextmanager
def reported(what_failed: str) -> Iterator[None]:
    """Ends the command with a sentence where what it does cannot be done, or where a signal ended it."""
    from brandctl import signals  # noqa: PLC0415
    from brandctl.local import postgres, processes, rabbitmq, services  # noqa: PLC0415
    from brandctl.local.backups import BackupError  # noqa: PLC0415
    from brandctl.local.folder import FolderInUseError  # noqa: PLC0415

    expected = (
        BackupError,
        *FAILURES,
        FolderInUseError,
        OSError,
        postgres.NotInstalledError,
        processes.StartError,
        rabbitmq.NotInstalledError,
        services.PortTakenError,
    )
    try:
        yield
    except expected as error:
        say(Console(stderr=True), f"{what_failed}: {error}", "red")
        raise typer.Exit(1) from error
    except signals.Interrupted as interrupted:
        raise typer.Exit(interrupted.exit_code) from interrupted
