"""`brandctl demo`: the command. It imports `brandctl.demo` only when it runs, because that takes a second to load."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from brandctl.run_command import reported


class DemoModelChoice(StrEnum):
    """Models with weights that need no account."""

    LOCAL = "local"


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
    folder: Annotated[Path, typer.Option(help="Folder for data, logs and the report.")] = Path(".local"),
    model: Annotated[
        DemoModelChoice | None,
        typer.Option(
            envvar="MODEL",
            help="local: a small model on this machine also writes the first keyword, for a second brand.",
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
    """Turns keywords into published articles on this machine, with Debian packages only.

    Starts a private RabbitMQ and a private PostgreSQL (or uses RABBITMQ_URL and POSTGRES_URL) and the services,
    submits the keywords, shows their progress and prints the links. Ctrl-C ends the processes and removes the data:
    `brandctl run` keeps its data.
    """
    from brandctl import demo  # noqa: PLC0415

    console = Console(highlight=False)
    options = demo.DemoOptions(
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
    with reported("The demo cannot go on"):
        well = demo.run(options, console)
    raise typer.Exit(0 if well else 1)
