"""`brandctl`, the command of the operator.

What runs the whole system takes a second to load, so that is done where it is asked for.
"""

import sys
import time
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer.main import get_command

from brandctl import topology
from brandctl.audit_log import audit_log
from brandctl.calendar import calendar_app
from brandctl.completion import completing
from brandctl.dead_letters import app as dead_letters_app
from brandctl.errors import CommandError
from brandctl.gateway import accounts_app, providers_app, spend_app
from brandctl.notifications import app as notifications_app
from brandctl.orchestrator import (
    audits_app,
    brands_app,
    content_app,
    cycles_app,
    drafts_app,
    keys_app,
    schedules_app,
    submit,
    watch,
    workflows_app,
)
from brandctl.publisher import measures, preview, site_app, targets_app
from brandctl.receipts import app as receipts_app
from brandctl.research import documents_app, sources_app
from brandctl.social import posts_app
from brandctl.terminal import note, say
from brandctl.traces import trace

app = typer.Typer(
    name="brandctl",
    help="""Runs and looks after Brand Engine.

Results go to standard output, what is said about them to standard error; --json has results as scripts want them.

Exit codes: 0 done, 1 nothing found, something failed or it was interrupted, 2 wrong usage.
""",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(accounts_app)
app.add_typer(audits_app)
app.add_typer(brands_app)
app.add_typer(calendar_app)
app.add_typer(content_app)
app.add_typer(cycles_app)
app.add_typer(dead_letters_app)
app.add_typer(documents_app)
app.add_typer(drafts_app)
drafts_app.command()(preview)
app.add_typer(notifications_app)
app.add_typer(posts_app)
app.add_typer(providers_app)
app.add_typer(keys_app)
app.add_typer(receipts_app)
app.add_typer(schedules_app)
app.add_typer(site_app)
app.add_typer(sources_app)
app.add_typer(spend_app)
app.add_typer(targets_app)
app.add_typer(topology.app)
app.add_typer(workflows_app)
app.command()(audit_log)
app.command()(completing(app))
app.command()(measures)
app.command()(submit)
app.command()(trace)
app.command()(watch)


@app.callback()
def brandctl() -> None:
    """Keeps every command a sub-command, however many there are."""


class Model(StrEnum):
    """Whose weights need no account."""

    LOCAL = "local"


@app.command(name="demo")
def run_demo(
    brand: Annotated[
        str | None, typer.Option(envvar="BRAND", help="Slug of the brand.", show_default="the sample brand")
    ] = None,
    keywords: Annotated[
        str, typer.Option(envvar="KEYWORDS", help="Comma separated.", show_default="the sample's")
    ] = "",
    corpus: Annotated[
        Path,
        typer.Option(
            envvar="CORPUS",
            exists=True,
            file_okay=False,
            help="Folder of .md, .html, .rst, .adoc, .txt and .pdf documents.",
        ),
    ] = Path("deploy/demo/corpus"),
    sample: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="JSON file of the sample brand.")
    ] = Path("deploy/demo/brand.json"),
    folder: Annotated[Path, typer.Option(help="Where data, logs and the report go.")] = Path(".local"),
    model: Annotated[
        Model | None,
        typer.Option(
            envvar="MODEL",
            help="local: a small model on this machine writes the first keyword once more, for a second brand.",
        ),
    ] = None,
    ends: Annotated[
        bool, typer.Option("--exit/--stay", envvar="DEMO_EXIT", help="End once every keyword has ended.")
    ] = False,
    patience: Annotated[
        float, typer.Option(envvar="DEMO_TIMEOUT", min=1, help="With --exit: seconds for all keywords.")
    ] = 900,
    started: Annotated[float | None, typer.Option(envvar="DEMO_STARTED", hidden=True)] = None,
) -> None:
    """Turns keywords into published articles on this machine, with nothing installed but Debian packages.

    Starts a private RabbitMQ and a private PostgreSQL (or uses RABBITMQ_URL and POSTGRES_URL), the services, hands
    in the keywords, shows their progress and prints the links. Ctrl-C ends everything it started.
    """
    from brandctl import demo, signals  # noqa: PLC0415
    from brandctl.local import postgres, processes, rabbitmq, services  # noqa: PLC0415
    from brandctl.local.folder import InUseError  # noqa: PLC0415

    expected = (
        CommandError,
        InUseError,
        OSError,
        postgres.NotInstalledError,
        processes.StartError,
        rabbitmq.NotInstalledError,
        services.PortTakenError,
    )
    console = Console(highlight=False)
    options = demo.Options(
        brand=brand or None,
        keywords=tuple(filter(None, (keyword.strip() for keyword in keywords.split(",")))),
        corpus=corpus,
        sample=sample,
        folder=folder,
        model=model is not None,
        ends=ends,
        patience=patience,
        started=started or time.time(),
    )
    try:
        well = demo.run(options, console)
    except expected as error:
        say(Console(stderr=True), f"The demo cannot go on: {error}", "red")
        raise typer.Exit(1) from error
    except signals.Interrupted as interrupted:
        raise typer.Exit(interrupted.exit_code) from interrupted
    raise typer.Exit(0 if well else 1)


@cache
def command() -> Callable[[], None]:
    """What is declared here, ready to be run; that takes as long as many a command, and is the same every time."""
    return get_command(app)


def main() -> None:
    """Whatever a command cannot do ends it here, in one way: why, on standard error, and an exit code."""
    try:
        command()()
    except CommandError as error:
        note(str(error))
        sys.exit(error.exit_code)
