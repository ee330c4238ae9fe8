"""Compares a broker with the topology over its management API; needs an administrator's or a monitoring user's access.

Services have no such access, so their own probes cannot see the arguments and bindings of queues.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from envelope import Catalogue
from messaging import topology
from messaging.doctor.findings import Finding, Probe, Status, run_in_turn
from messaging.topology import DEAD_LETTERS, Binding, Queue
from messaging.topology.users import ManagementApi

_MOST_NAMED: Final = 10
_LIMIT: Final = "x-delivery-limit"
_DECLARE: Final = "Declare the topology: `python -m messaging topology CATALOGUE`."


async def inspect(api_url: str, vhost: str, catalogue: Catalogue) -> list[Finding]:
    """Compares the queues and bindings of a vhost with the topology, and reads the alarms; changes nothing.

    Args:
        api_url: `http://user:password@host:15672`.
        vhost: with the queues.
        catalogue: says what the topology should be.

    Raises:
        UsersError: the URL is invalid.
    """
    api = ManagementApi.at(api_url)
    described = topology.describe(catalogue)

    async def check_alarms() -> Finding:
        return _check_alarms(await asyncio.to_thread(api.read, "nodes"))

    async def check_queues() -> Finding:
        return _check_queues(described.queues, _by_name(await asyncio.to_thread(api.read, "queues", vhost)))

    async def check_dead_letters() -> Finding:
        exchange = await asyncio.to_thread(api.read, "exchanges", vhost, DEAD_LETTERS)
        if exchange is None:
            return _missing_exchange()
        there = await asyncio.to_thread(api.read, "exchanges", vhost, DEAD_LETTERS, "bindings", "source")
        return _check_bindings(described.bindings, there or [])

    probes: Sequence[tuple[str, Probe]] = (
        ("broker_alarms", check_alarms),
        ("queue_arguments", check_queues),
        ("dead_letter_exchange", check_dead_letters),
    )
    try:
        return await run_in_turn(probes, skip_rest_if_first_fails=False)
    finally:
        api.connection.close()


def _by_name(answer: Any) -> dict[str, Any]:
    return {each["name"]: each for each in answer or []}


def _check_alarms(nodes: Any) -> Finding:
    alarmed = [
        f"{node['name']} ({what})"
        for node in nodes or []
        for field, what in (("disk_free_alarm", "free disk"), ("mem_alarm", "memory"))
        if node.get(field)
    ]
    away = [node["name"] for node in nodes or [] if not node.get("running", True)]
    if alarmed:
        return Finding(
            "broker_alarms",
            Status.FAILED,
            f"Nodes of the broker are short: {_some(alarmed)}. They take no messages.",
            "Give these nodes more disk or memory.",
        )
    if away:
        return Finding(
            "broker_alarms",
            Status.WARNING,
            f"Nodes of the broker are down: {_some(away)}.",
            "Start them: with half of its nodes down, a quorum queue takes no messages.",
        )
    return Finding("broker_alarms", Status.OK, "No node of the broker is down or short of memory or disk.")


def _check_queues(wanted: Sequence[Queue], there: dict[str, Any]) -> Finding:
    missing = [queue.name for queue in wanted if queue.name not in there]
    if missing:
        return Finding(
            "queue_arguments", Status.FAILED, f"The broker lacks queues: {_some(missing)}.", _DECLARE
        )
    wrong = [text for queue in wanted for text in _differences(queue, there[queue.name])]
    if wrong:
        return Finding(
            "queue_arguments",
            Status.FAILED,
            f"Queues differ from the topology: {_some(wrong)}.",
            "Remove the policy that changes a queue, if one is named. Otherwise stop its service, wait until the queue"
            f" is empty, and delete it. {_DECLARE}",
        )
    return Finding(
        "queue_arguments",
        Status.OK,
        f"All {len(wanted)} queues have the arguments of the topology, the delivery limit included.",
    )


def _differences(queue: Queue, there: dict[str, Any]) -> list[str]:
    arguments = there.get("arguments") or {}
    found = [
        f"{queue.name} has {name} {_shown(arguments.get(name))} instead of {_shown(value)}"
        for name, value in queue.arguments.items()
        if arguments.get(name) != value
    ]
    policy = there.get("effective_policy_definition") or {}
    limit = policy.get("delivery-limit") if isinstance(policy, dict) else None
    wanted = queue.arguments[_LIMIT]
    # Of argument and policy, the broker takes the smaller one.
    if not found and isinstance(limit, int) and 0 <= limit < wanted:
        names = ", ".join(filter(None, (there.get("policy"), there.get("operator_policy"))))
        found.append(
            f"{queue.name} has a delivery limit of {limit} by the policy {names} instead of {wanted}"
        )
    return found


def _shown(value: Any) -> str:
    return "unset" if value is None else str(value)


def _missing_exchange() -> Finding:
    return Finding(
        "dead_letter_exchange",
        Status.FAILED,
        f"The broker has no exchange {DEAD_LETTERS}: messages that fail for good stay where they are.",
        _DECLARE,
    )


def _check_bindings(wanted: Sequence[Binding], there: Sequence[Any]) -> Finding:
    found = {
        (each["destination"], each["routing_key"]) for each in there if each["destination_type"] == "queue"
    }
    missing = [
        f"{each.routing_key} to {each.queue}"
        for each in wanted
        if each.exchange == DEAD_LETTERS and (each.queue, each.routing_key) not in found
    ]
    if missing:
        return Finding(
            "dead_letter_exchange",
            Status.FAILED,
            f"The exchange {DEAD_LETTERS} lacks bindings: {_some(missing)}.",
            _DECLARE,
        )
    return Finding(
        "dead_letter_exchange", Status.OK, f"The exchange {DEAD_LETTERS} leads to a queue for each queue."
    )


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_NAMED
    return "; ".join(texts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
