"""`brandctl submit`: submits keywords."""

import json
from contextlib import suppress
from typing import Annotated
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile, ServiceError
from brandctl.errors import UsageError
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl
from brandctl.orchestrator.keyword_files import PriorityChoice, is_table, read_file
from brandctl.orchestrator.watching import follow, went_well
from brandctl.terminal import note, print_json, printable

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_CSV = "text/csv; charset=utf-8"


def submit(
    brand: Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")],
    keywords: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEYWORD]...", help="Keywords; quote those of several words."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="A list: one keyword a line, or a table (.csv) with the columns `keyword` and, if they differ, `priority` and `distinct` (yes or no)."
            " - is standard input."
        ),
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The list is a table, even without the suffix .csv.")
    ] = False,
    priority: Annotated[
        PriorityChoice | None,
        typer.Option(help="high, normal or low: higher ones go first in their brand.", show_default="normal"),
    ] = None,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh", help="Rewrite existing articles about them, at their addresses, from new research."
        ),
    ] = False,
    distinct: Annotated[
        bool,
        typer.Option(
            "--distinct",
            help="Each keyword is a subject of its own, even if it equals an existing one.",
        ),
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="Name of this request; a second request of that name begins no cycle.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Watch the keywords until they have ended or wait for you.")
    ] = False,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Submits up to 10,000 keywords for a brand, and prints the id of their cycle.

    Exit codes: 0 accepted (with --wait: and ended as completed, or what is left waits for a person), 1 refused, failed or cancelled,
    2 wrong usage.

    For example:

        brandctl submit acme "cold brew" "moka pot"
        brandctl submit acme --file keywords.csv --wait
        brandctl submit acme "cold brew" --refresh --wait
        brandctl submit acme "blues guitars" --distinct
        sort keywords.txt | brandctl submit acme --file - --priority low
    """
    if bool(keywords) == (file is not None):
        raise UsageError("give either keywords, or a list of them with --file; not both")
    if file is None:
        body, media_type = json.dumps({"keywords": keywords}).encode(), _JSON
    else:
        body = read_file(file)
        media_type = _CSV if is_table(file, as_csv=as_csv) else _TEXT
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        answer = orchestrator.submit_list(
            brand, body, media_type, priority=priority, refresh=refresh, distinct=distinct, key=key
        )
        cycle_id = UUID(answer["cycle_id"])
        if as_json:
            print_json(answer)
        else:
            typer.echo(str(cycle_id))
        total = answer.get("total")
        note(f"{total} keyword{'' if total == 1 else 's'} of {printable(brand)} accepted")
        if wait and not went_well(follow(orchestrator, cycle_id, beside=as_json)):
            raise typer.Exit(1)
        if not wait:
            _note_what_holds_up(orchestrator, cycle_id)
            note(f"watch them: brandctl watch {cycle_id}")


def _note_what_holds_up(orchestrator: OrchestratorClient, cycle_id: UUID) -> None:
    """Prints why nothing begins for now: quiet hours, a pause, unreviewed drafts."""
    # A key may lack the scope read; the keywords are accepted all the same.
    with suppress(ServiceError):
        progress, _ = orchestrator.progress(cycle_id)
        if progress.held_up is not None:
            note(f"they wait: {progress.held_up.reason}")
