"""The AsyncAPI 3.0.0 document of all services.

FastStream can describe its own subscribers, but it sees neither the messages they send, which the outbox does, nor the messages'
schemas, which the library decodes itself (see `messaging.broker.subscription`).

There are two kinds of channels. Services send to `<exchange>.<routing key>`; if the routing key may be any queue, it is a parameter.
They receive from `queue.<name>`. `docs/topology.md` shows which channels lead to which queues.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from envelope import Catalogue, Message, MessageKind, MessageType
from envelope.message import MAX_MESSAGE_BYTES, encode
from envelope.schemas import schema_of
from messaging import headers as header
from messaging import topology
from messaging.headers import Reason
from messaging.topology import COMMANDS, DEAD_LETTERS, RETURNS, permissions

Node = dict[str, Any]

DEAD_LETTER: Final = "dead-letter"
"""The message in dead-letter queues: any message, or bytes that are none."""

# Messages only ever change by addition (a breaking change is a new type), so this never changes.
_CONTRACT_VERSION: Final = "1"
_BINDING_VERSION: Final = "0.3.0"

_INTRODUCTION: Final = """\
The messages that the services of {title} send each other over RabbitMQ.

A command goes to one service: the exchange `commands`, with the queue of that service as routing key. An event goes to all: the \
exchange `{events}`, with its type as routing key. Delivery is at least once; every copy has the same `event_id`. Readers ignore \
unknown fields.

Of the AMQP properties, `content_type` is `application/json`, `delivery_mode` 2, `message_id` the `event_id`, `type` the \
message's type, `correlation_id` that of the envelope, `user_id` the publishing service's user, which the broker \
checks, and `app_id` the publishing service.

Consumers accept a message if its `source` may send its type, if an event's routing key is its type, and if its `user_id` is the \
user of its `source`. Without `user_id`, the routing key must prove the sender. Any other message becomes a dead letter with the \
reason `false_claim`. Consumers refuse a body of more than {limit:,} bytes unread."""

_TRACE_HEADERS: Final[Mapping[str, Node]] = {
    header.TRACEPARENT: {
        "type": "string",
        "pattern": "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
        "description": "W3C Trace Context: the span that the message continues.",
    },
    header.TRACESTATE: {"type": "string", "description": "W3C Trace Context: what tracing systems add."},
    header.BAGGAGE: {"type": "string", "description": "W3C Baggage: the subject of the work, for spans."},
}
_ATTEMPT_HEADERS: Final[Mapping[str, Node]] = {
    header.ATTEMPT: {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "Number of this attempt; the first one has no such header.",
    },
    header.WAITS: {
        "type": "integer",
        "minimum": 1,
        "description": "How often the message has waited for a dependency since its last attempt.",
    },
    header.WAITS_FOR: {"type": "string", "description": "The dependency that it waits for."},
    header.REPLAY_OF: {
        "type": "string",
        "format": "uuid",
        "description": "`event_id` of the dead letter that this message replays.",
    },
    header.FOR_OTHERS: {
        "type": "integer",
        "const": 1,
        "description": "An integration event: a consumer that does not know its type ignores it.",
    },
}
_LAST_FAILURE_HEADERS: Final[Mapping[str, Node]] = {
    header.FAILURE_FIRST_AT: {
        "type": "string",
        "format": "date-time",
        "description": "When it failed first.",
    },
    header.FAILURE_LAST_AT: {"type": "string", "format": "date-time", "description": "When it failed last."},
    header.FAILURE_TYPE: {"type": "string", "description": "The exception that it failed with last."},
    header.FAILURE_MESSAGE: {"type": "string", "description": "The text of that exception."},
}
_VERDICT_HEADERS: Final[Mapping[str, Node]] = {
    header.FAILURE_REASON: {
        "type": "string",
        "enum": [reason.value for reason in Reason],
        "description": "Why it is a dead letter.",
    },
    header.FAILURE_STACK: {"type": "string", "description": "The end of the stack trace."},
    header.FAILURE_ATTEMPTS: {
        "type": "integer",
        "minimum": 1,
        "description": "How many attempts were made.",
    },
    header.FAILURE_SERVICE: {"type": "string", "description": "The service in which it failed."},
    header.FAILURE_QUEUE: {"type": "string", "description": "The queue it died in."},
    header.FAILURE_CODE: {
        "type": "string",
        "pattern": "^[0-9a-f]{16}$",
        "description": "A hash of that service's source, to see whether its code has changed since.",
    },
    header.FAILURE_VERSION: {"type": "string", "description": "The version of that service."},
}


class AsyncApiDocument:
    """The document of one system; `examples` has example messages by type."""

    def __init__(self, catalogue: Catalogue, examples: Mapping[str, Message]) -> None:
        self._catalogue = catalogue
        self._described = topology.describe(catalogue)
        self._permitted = permissions.describe(catalogue)
        self._work = topology.work_queues(catalogue)
        self._examples = examples

    def describe(self) -> Node:
        """Builds the whole document as JSON values."""
        return {
            "asyncapi": "3.0.0",
            "id": f"urn:{self._catalogue.system.replace('_', '-')}:messages",
            "info": {
                "title": self._catalogue.title,
                "version": _CONTRACT_VERSION,
                "description": _INTRODUCTION.format(
                    title=self._catalogue.title, events=self._catalogue.events, limit=MAX_MESSAGE_BYTES
                ),
                "tags": [{"name": service} for service in self._permitted],
            },
            "defaultContentType": "application/json",
            "servers": {"broker": _server()},
            "channels": self._channels(),
            "operations": self._operations(),
            "components": {
                "messages": {
                    **{entry.name: self._message(entry) for entry in self._catalogue.values()},
                    DEAD_LETTER: self._dead(),
                },
                "schemas": self._schemas(),
                "correlationIds": {
                    "envelope": {
                        "description": "The same on every message of one request, retries and replays included.",
                        "location": "$message.payload#/correlation_id",
                    }
                },
                "securitySchemes": {
                    "user": {
                        "type": "userPassword",
                        "description": "A user of its own for each service, with the permissions of `docs/topology.md`.",
                    }
                },
            },
        }

    # -- channels ------------------------------------------------------------------------------------------------------

    def _messages_of(self, queue: str) -> tuple[str, ...]:
        """The messages that a service receives from a queue."""
        if queue in self._work:
            return tuple(
                entry.name for entry in self._catalogue.values() if queue in self._catalogue.queues_of(entry)
            )
        return (DEAD_LETTER,)

    def _channels(self) -> Node:
        commands = dict.fromkeys(
            entry.queue for entry in self._catalogue.values() if entry.kind is MessageKind.COMMAND
        )
        events = (entry.name for entry in self._catalogue.values() if entry.kind is MessageKind.EVENT)
        queues = self._described.queues
        return {
            **{
                f"{COMMANDS}.{queue}": _keyed(COMMANDS, queue, self._messages_of(queue)) for queue in commands
            },
            **{
                f"{self._catalogue.events}.{event}": _keyed(self._catalogue.events, event, (event,))
                for event in events
            },
            RETURNS: self._by_queue(
                RETURNS,
                "Retries, each back to the queue it came from, and replays of dead letters.",
                tuple(queue.name for queue in queues),
            ),
            DEAD_LETTERS: self._by_queue(
                DEAD_LETTERS, "What has failed for good, with the facts.", self._work
            ),
            **{f"queue.{queue.name}": self._queue(queue) for queue in queues},
        }

    def _by_queue(self, exchange: str, description: str, queues: tuple[str, ...]) -> Node:
        return {
            "address": "{queue}",
            "description": f"{description} Exchange `{exchange}`, the routing key is the name of the queue.",
            "parameters": {"queue": {"description": "The name of the queue.", "enum": list(queues)}},
            "messages": _message_references(self._messages_by_queue(exchange, queues)),
            "bindings": {"amqp": _exchange_binding(exchange)},
        }

    def _messages_by_queue(self, exchange: str, queues: Iterable[str]) -> Iterable[str]:
        """The messages sent to an exchange with queue names as routing keys."""
        if exchange == DEAD_LETTERS:
            return (DEAD_LETTER,)
        return dict.fromkeys(name for queue in queues for name in self._messages_of(queue))

    def _queue(self, queue: topology.Queue) -> Node:
        return {
            "address": queue.name,
            "description": f"The queue `{queue.name}`.",
            "messages": _message_references(self._messages_of(queue.name)),
            "bindings": {
                "amqp": {
                    "is": "queue",
                    "queue": {"name": queue.name, "durable": True, "exclusive": False, "autoDelete": False},
                    "x-arguments": queue.arguments,
                    "bindingVersion": _BINDING_VERSION,
                }
            },
        }

    # -- operations --------------------------------------------------------------------------------------------------

    def _operations(self) -> Node:
        """What each service does: exactly what the broker permits it."""
        operations: Node = {}
        for service, permitted in self._permitted.items():
            for exchange, keys in permitted.routing_keys.items():
                if exchange in {COMMANDS, self._catalogue.events}:
                    for key in keys:
                        produced = [
                            name
                            for name in self._sent_as(exchange, key)
                            if service in self._catalogue[name].producers
                        ]
                        channel = f"{exchange}.{key}"
                        operations[f"{service}.sends.{channel}"] = _send(service, channel, produced)
                else:
                    operation = _send(service, exchange, self._messages_by_queue(exchange, keys))
                    operations[f"{service}.sends.{exchange}"] = {**operation, "x-routing-keys": list(keys)}
            for queue in permitted.queues:
                operations[f"{service}.receives.{queue}"] = self._receive(service, queue)
        return operations

    def _sent_as(self, exchange: str, routing_key: str) -> tuple[str, ...]:
        return self._messages_of(routing_key) if exchange == COMMANDS else (routing_key,)

    def _receive(self, service: str, queue: str) -> Node:
        return _operation("receive", service, f"queue.{queue}", self._messages_of(queue), {"ack": True})

    # -- messages ----------------------------------------------------------------------------------------------------

    def _message(self, entry: MessageType) -> Node:
        example = self._examples.get(entry.name)
        summary, *more = entry.meaning
        return {
            "name": entry.name,
            "title": entry.name,
            "summary": summary,
            **({"description": "\n\n".join(more)} if more else {}),
            "contentType": "application/json",
            "correlationId": _reference("components", "correlationIds", "envelope"),
            "headers": _reference("components", "schemas", "headers"),
            "payload": _reference("components", "schemas", entry.name),
            "tags": [{"name": entry.kind.value}],
            "bindings": {"amqp": {"messageType": entry.name, "bindingVersion": _BINDING_VERSION}},
            **_examples("first_attempt", {}, example),
        }

    def _dead(self) -> Node:
        return {
            "name": DEAD_LETTER,
            "title": "dead letter",
            "summary": "A dead message, unchanged; the headers say why it died.",
            "description": "The broker also puts messages here if their body is no envelope or after too many deliveries; "
            "its header `x-death` has the reason then.",
            "correlationId": _reference("components", "correlationIds", "envelope"),
            "headers": _reference("components", "schemas", "dead-letter-headers"),
            "payload": _reference("components", "schemas", DEAD_LETTER),
            "bindings": {"amqp": {"bindingVersion": _BINDING_VERSION}},
            **self._dead_example(),
        }

    def _dead_example(self) -> Node:
        """An example: a command that did not succeed in time."""
        commands = (entry for entry in self._catalogue.values() if entry.kind is MessageKind.COMMAND)
        entry = next((entry for entry in commands if entry.name in self._examples), None)
        if entry is None:
            return {}
        dead = self._examples[entry.name]
        failed_at = dead.timestamp.isoformat()
        facts: Node = {
            header.FAILURE_REASON: Reason.EXHAUSTED.value,
            header.FAILURE_TYPE: "TimeoutError",
            header.FAILURE_MESSAGE: "no answer in time",
            header.FAILURE_STACK: "TimeoutError: no answer in time\n",
            header.FAILURE_ATTEMPTS: 5,
            header.FAILURE_FIRST_AT: failed_at,
            header.FAILURE_LAST_AT: failed_at,
            header.FAILURE_SERVICE: entry.consumers[0],
            header.FAILURE_QUEUE: entry.queue,
            header.FAILURE_CODE: "31e73da8a3441508",
            header.FAILURE_VERSION: "0.1.0",
            header.ATTEMPT: 5,
        }
        return _examples("exhausted", facts, dead)

    def _schemas(self) -> Node:
        """The envelope of every type, the payloads they are made of, and the headers."""
        schemas: Node = {
            "headers": _header_schema(_TRACE_HEADERS, _ATTEMPT_HEADERS, _LAST_FAILURE_HEADERS),
            "dead-letter-headers": _header_schema(
                _TRACE_HEADERS, _ATTEMPT_HEADERS, _LAST_FAILURE_HEADERS, _VERDICT_HEADERS
            ),
            DEAD_LETTER: {"description": "Any envelope, or bytes that are none."},
        }
        for entry in self._catalogue.values():
            own = schema_of(entry, references="#/components/schemas/{model}")
            parts = own.pop("$defs", {})
            for name, part in {**parts, entry.name: own}.items():
                assert schemas.setdefault(name, part) == part, f"two schemas are called {name}"
        return schemas


def _server() -> Node:
    return {
        "host": "{host}:{port}",
        "protocol": "amqp",
        "protocolVersion": "0-9-1",
        "description": "RabbitMQ, 3.10 or later; the environment variable `RABBITMQ_URL` of each service.",
        "variables": {"host": {"default": "localhost"}, "port": {"default": "5672"}},
        "security": [_reference("components", "securitySchemes", "user")],
    }


def _keyed(exchange: str, routing_key: str, messages: Iterable[str]) -> Node:
    return {
        "address": routing_key,
        "description": f"Exchange `{exchange}`, routing key `{routing_key}`.",
        "messages": _message_references(messages),
        "bindings": {"amqp": _exchange_binding(exchange)},
    }


def _exchange_binding(exchange: str) -> Node:
    return {
        "is": "routingKey",
        "exchange": {"name": exchange, "type": "topic", "durable": True, "autoDelete": False},
        "bindingVersion": _BINDING_VERSION,
    }


def _message_references(names: Iterable[str]) -> Node:
    return {name: _reference("components", "messages", name) for name in names}


def _send(service: str, channel: str, messages: Iterable[str]) -> Node:
    return _operation("send", service, channel, messages, {"deliveryMode": 2, "mandatory": True})


def _operation(action: str, service: str, channel: str, messages: Iterable[str], binding: Node) -> Node:
    return {
        "action": action,
        "channel": _reference("channels", channel),
        "tags": [{"name": service}],
        "messages": [_reference("channels", channel, "messages", name) for name in messages],
        "bindings": {"amqp": {**binding, "bindingVersion": _BINDING_VERSION}},
    }


def _examples(name: str, headers: Node, example: Message | None) -> Node:
    if example is None:
        return {}
    return {"examples": [{"name": name, "headers": headers, "payload": json.loads(encode(example))}]}


def _header_schema(*groups: Mapping[str, Node]) -> Node:
    return {
        "type": "object",
        "properties": {name: schema for group in groups for name, schema in group.items()},
    }


def _reference(*path: str) -> Node:
    assert not any("/" in part or "~" in part for part in path)  # a JSON pointer would need them escaped
    return {"$ref": "#/" + "/".join(path)}
