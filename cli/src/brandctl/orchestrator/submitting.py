"""`brandctl submit`: submits keywords."""

import json
from contextlib import suppress
from typing import Annotated
from uuid import UUID

import typer

from brandctl.errors import UsageError
from brandctl.options import Brand
from brandctl.orchestrator.keyword_files import AsCsv, ListFile, is_table, read_file
from brandctl.orchestrator.watching import follow, went_well
from brandctl.terminal import note, print_json, printable
from client.errors import ClientError
from client.services.orchestrator import Orchestrator, Priority

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_CSV = "text/csv; charset=utf-8"


def submit(
    orchestrator: Orchestrator,
    brand: Brand,
    as_json: bool,
    keywords: Annotated[list[str] | None, typer.Argument(metavar="[KEYWORD]...")] = None,
    file: ListFile = None,
    as_csv: AsCsv = False,
    priority: Priority | None = None,
    refresh: bool = False,
    distinct: bool = False,
    deadline: str | None = None,
    deadline_hours: int | None = None,
    max_cost: float | None = None,
    key: str | None = None,
    wait: bool = False,
) -> None:
    """Submits up to 10,000 keywords for a brand, and prints the id of their cycle.

    Exit codes: 0 accepted (with --wait: and ended as completed, or what is left waits for a person), 1 refused, failed or cancelled,
    2 wrong usage.

    For example:

        brandctl submit acme "cold brew" "moka pot"
        brandctl submit acme --file keywords.csv --wait
        brandctl submit acme "cold brew" --refresh --wait
        brandctl submit acme "blues guitars" --distinct
        brandctl submit acme "black friday" --deadline 2026-11-26T18:00+01:00 --max-cost 2.50
        sort keywords.txt | brandctl submit acme --file - --priority low

    Options:
        keywords: Keywords; quote those of several words.
        priority: high, normal or low: higher ones go first in their brand. [default: normal]
        refresh: Rewrite existing articles about them, at their addresses, from new research.
        distinct: Each keyword is a subject of its own, even if it equals an existing one.
        deadline: Time with a zone, such as 2026-12-03T14:00+01:00, at which the work on them ends. [default: as the brand's settings say]
        deadline_hours: The same in hours from now on; give one of both.
        max_cost: Dollars that their paid calls may cost together. [default: as the brand's settings say]
        key: Name of this request; a second request of that name begins no cycle.
        wait: Watch the keywords until they have ended or wait for you.
    """
    if bool(keywords) == (file is not None):
        raise UsageError("give either keywords, or a list of them with --file; not both")
    if file is None:
        body, media_type = json.dumps({"keywords": keywords}).encode(), _JSON
    else:
        body = read_file(file)
        media_type = _CSV if is_table(file, as_csv=as_csv) else _TEXT
    answer = orchestrator.submit_keywords(
        brand,
        body,
        content_type=media_type,
        priority=priority,
        refresh=refresh or None,
        distinct=distinct or None,
        deadline=deadline,
        deadline_hours=deadline_hours,
        max_cost=max_cost,
        idempotency_key=key,
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
        # A key may lack the scope read; the keywords are accepted all the same.
        with suppress(ClientError):
            if held_up := orchestrator.get_cycle(cycle_id).get("held_up"):
                note(f"they wait: {held_up['reason']}")
        note(f"watch them: brandctl watch {cycle_id}")
