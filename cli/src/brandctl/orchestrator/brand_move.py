"""`brandctl brands move`: moves a brand to another installation."""

from pathlib import Path
from typing import Annotated, Any

import typer

from brandctl.commands import Result
from brandctl.errors import CommandError, UsageError
from brandctl.options import Brand
from brandctl.orchestrator.other_installation import OtherInstallation, read_installation
from brandctl.tables import show_table
from brandctl.terminal import note
from client.brand_move import BrandMover, MoveReport, MovingSide
from client.errors import UnreachableError
from client.services.gateway import Gateway
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social


def move(
    brand: Brand,
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help="Addresses and key of the other installation.")
    ],
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    gateway: Gateway,
    as_json: bool,
    dry_run: bool = False,
    cancel: bool = False,
    wait: Annotated[float, typer.Option(min=0, metavar="SECONDS")] = 120.0,
) -> Result:
    """Moves a brand to another installation: pauses it, copies it with its ids, and lets it go on there. Needs the scope admin on both sides.

    If the command breaks off, or the other side is away, repeat it: it continues, from any machine. Nothing is published twice. Afterwards the
    brand publishes nothing here again; erase it here once you have looked at it there: brandctl brands erase.

    FILE has lines NAME=value: ORCHESTRATOR_URL, RESEARCH_URL, PUBLISHER_URL, SOCIAL_URL, GATEWAY_URL, and SERVICE_KEY or SERVICE_KEY_FILE. The
    brand's own accounts go along if both gateways have the same MOVES_KEY; only the gateways see their credentials.

    For example:

        brandctl brands move acme --to eu.env --dry-run
        brandctl brands move acme --to eu.env

    Options:
        dry_run: Only looks whether the move can begin.
        cancel: Gives a move up, as long as the accounts have not changed over: the brand goes on here.
        wait: The most seconds to wait for what runs to end; then the brand stays paused, and you repeat the command.
    """
    if dry_run and cancel:
        raise UsageError("give only one of --dry-run and --cancel")
    other = read_installation(to)
    for service in (orchestrator, research, publisher, social):
        service.connect()
    progress = (lambda _: None) if as_json else (lambda step: note(f"… {step}"))
    with other.services() as target:
        source = MovingSide(orchestrator, research, publisher, social, _known(gateway))
        mover = BrandMover(brand, source, target, other.name, progress, wait)
        if cancel:
            mover.cancel()
            return Result({"brand": brand, "cancelled": True}, note=_cancelled(brand, other))
        if dry_run:
            found = mover.look()
            return Result(
                {"brand": brand, "to": other.name, "has": found},
                note=f"{brand} can move to {other.name}; nothing was changed",
                show=lambda: show_table(("it has", "count"), [(name, str(n)) for name, n in found.items()]),
            )
        try:
            report = mover.run()
        except UnreachableError as error:
            raise CommandError(f"{error}. Nothing is lost: repeat the command once it is back") from error
    return Result(_told(report), note=_says(report))


def _known(gateway: Gateway) -> Gateway | None:
    """The gateway, if its address is known; accounts stay without one."""
    try:
        gateway.connect()
    except UsageError:
        return None
    return gateway


def _cancelled(brand: str, other: OtherInstallation) -> str:
    return (
        f"{brand} stays here, and goes on unless it was paused before. If {other.name} has a copy by now, it is paused: erase it there"
        " before another move"
    )


def _told(report: MoveReport) -> dict[str, Any]:
    return {
        "brand": report.brand,
        "to": report.to,
        "step": report.step,
        "paused_seconds": report.paused_seconds,
        "accounts": report.accounts,
        "connect_again": report.connect_again,
        "stays_paused": report.stays_paused,
        "added": report.imported.added if report.imported else {},
        "not_taken": report.imported.not_taken if report.imported else [],
    }


def _says(report: MoveReport) -> list[str]:
    paused = (
        "" if report.paused_seconds is None else f"; it was paused for {report.paused_seconds:.1f} seconds"
    )
    says = [f"{report.brand} has moved to {report.to}{paused}"]
    if report.stays_paused:
        says.append(
            f"it was paused before the move, and still is there: brandctl brands resume {report.brand}"
        )
    if report.imported is not None:
        says += [f"not taken over: {each}" for each in report.imported.not_taken]
    says += [f"its account has come along: {each}" for each in report.accounts]
    says += [f"connect there: {each}" for each in report.connect_again]
    says.append(
        f"here it publishes nothing again. Look at it there, then erase it here: brandctl brands erase {report.brand}"
    )
    return says
