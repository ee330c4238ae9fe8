"""`brandctl`, the command of the operator.

Each command is imported when a user types it: loading all commands takes longer than most of them run.
"""

import sys
from functools import cache
from importlib import import_module
from typing import Any, Final

import typer
from typer.main import get_command

from brandctl import plain_help
from brandctl.commands import Group
from brandctl.errors import FAILURES, CommandError
from brandctl.terminal import note

COMMANDS: Final = {
    "accounts": "brandctl.gateway.accounts:app",
    "alerts": "brandctl.alerts:app",
    "audits": "brandctl.orchestrator.audits:app",
    "brands": "brandctl.orchestrator.brands:app",
    "calendar": "brandctl.calendar.commands:app",
    "content": "brandctl.orchestrator.content:app",
    "cycles": "brandctl.orchestrator.cycles:app",
    "dead-letters": "brandctl.dead_letters.commands:app",
    "documents": "brandctl.research.documents:app",
    "drafts": "brandctl.orchestrator.drafts:app",
    "newsletter": "brandctl.publisher.newsletter:app",
    "notifications": "brandctl.notifications.commands:app",
    "people": "brandctl.people.commands:app",
    "posts": "brandctl.social.posts:app",
    "proposals": "brandctl.orchestrator.proposals:app",
    "providers": "brandctl.gateway.providers:app",
    "events": "brandctl.events.feed:app",
    "keys": "brandctl.orchestrator.keys:app",
    "keywords": "brandctl.keywords.commands:app",
    "messages": "brandctl.messages:app",
    "queues": "brandctl.queues:app",
    "receipts": "brandctl.receipts.commands:app",
    "retries": "brandctl.retries:app",
    "schedules": "brandctl.orchestrator.schedules:app",
    "site": "brandctl.publisher.site:app",
    "sources": "brandctl.research.sources:app",
    "spend": "brandctl.gateway.spend:app",
    "subscriptions": "brandctl.events.subscriptions:app",
    "subjects": "brandctl.orchestrator.subjects:app",
    "targets": "brandctl.publisher.targets:app",
    "topology": "brandctl.topology:app",
    "broker-users": "brandctl.broker_users:app",
    "hooks": "brandctl.events.hooks:app",
    "webhooks": "brandctl.events.webhooks:app",
    "workflows": "brandctl.orchestrator.workflows:app",
    "audit-log": "brandctl.audit_log:audit_log",
    "chain": "brandctl.chain:chain",
    "backbone": "brandctl.backbone:backbone",
    "throughput": "brandctl.throughput:throughput",
    "doctor": "brandctl.doctor:doctor",
    "ledger": "brandctl.ledger:ledger",
    "close-missing": "brandctl.ledger:close_missing",
    "completion": "brandctl.completion:completion",
    "mcp": "brandctl.assistants:mcp",
    "measures": "brandctl.publisher.measures:measures",
    "submit": "brandctl.orchestrator.submitting:submit",
    "trace": "brandctl.traces.command:trace",
    "watch": "brandctl.orchestrator.watching:watch",
    "demo": "brandctl.demo_command:run_demo",
    "run": "brandctl.run_command:run_system",
    "stop": "brandctl.run_command:stop_system",
    "backup": "brandctl.run_command:back_up",
    "restore": "brandctl.run_command:restore",
}
"""Command or group of commands → where it is declared, as `module:attribute`."""
GROUP_MEMBERS: Final = {
    "brands": (
        "brandctl.orchestrator.brand_erasure:erase",
        "brandctl.orchestrator.brand_export:export",
        "brandctl.orchestrator.brand_import:import_",
        "brandctl.orchestrator.brand_move:move",
    ),
    "drafts": ("brandctl.publisher.preview:preview",),
}
"""Commands of a group that another module declares, because they call other services than the group does."""


@cache
def assemble(names: tuple[str, ...] = tuple(COMMANDS)) -> typer.Typer:
    """The app with these of its `COMMANDS`, and no others."""
    app = Group(
        "brandctl",
        """Runs and looks after Brand Engine.

Results go to standard output, remarks to standard error; --json prints results as JSON, for scripts.

Exit codes: 0 done, 1 nothing found, failed or interrupted, 2 wrong usage.
""",
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(brandctl)
    for name in names:
        declared = _load(name)
        if isinstance(declared, typer.Typer):
            app.add_typer(declared)
        else:
            app.command(name=name)(declared)
    return app


def brandctl() -> None:
    """Keeps every command a sub-command, however many there are."""


@cache
def _load(group: str) -> Any:
    declared = _import(COMMANDS[group])
    for member in GROUP_MEMBERS.get(group, ()):
        # A command may have a word of Python's as its name.
        name = member.rpartition(":")[2].rstrip("_").replace("_", "-")
        declared.command(name=name)(_import(member))
    return declared


def _import(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def main() -> None:
    """Runs the command line; prints a failed command's error to standard error and exits with its code."""
    typed = sys.argv[1] if len(sys.argv) > 1 else None
    # The list of all commands, and the error about an unknown one, need all of them loaded.
    app = assemble((typed,)) if typed in COMMANDS else assemble()
    command = get_command(app)
    plain_help.apply(command)
    try:
        command()
    except FAILURES as error:
        note(str(error))
        sys.exit(getattr(error, "exit_code", CommandError.exit_code))
