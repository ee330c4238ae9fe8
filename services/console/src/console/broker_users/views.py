"""What the pages of users at the broker show. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

TONES: Final = {"open": "good", "revoked": "bad", "expired": "bad", "unknown": "bad"}
COMMANDS: Final = (
    ("cycle_start", frozenset({"submit"})),
    ("brand_audit", frozenset({"submit"})),
    ("content_publish", frozenset({"submit", "review"})),
)
"""What a user may send, by its text, and the scopes of the key that this takes."""
USEFUL: Final = "submit"
"""Without this scope, every command of a user is refused."""


@dataclass(frozen=True, slots=True)
class UserLine:
    user: str
    key_id: str
    name: str
    """Of the key; empty for a key that is not known."""
    state: str
    """`open`, `revoked`, `expired` or `unknown`."""
    commands: tuple[str, ...]
    brands: tuple[str, ...] | None
    """None: all."""


def state_of(key: Mapping[str, Any] | None) -> str:
    if key is None:
        return "unknown"
    return "revoked" if key["revoked_at"] else "expired" if key["is_expired"] else "open"


def user_line(user: str, key_id: str, key: Mapping[str, Any] | None) -> UserLine:
    state = state_of(key)
    scopes = frozenset(key["scopes"]) if key is not None and state == "open" else frozenset()
    brands = None if key is None or key["brands"] is None else tuple(key["brands"])
    commands = tuple(name for name, needed in COMMANDS if needed <= scopes)
    return UserLine(user, key_id, "" if key is None else key["name"], state, commands, brands)


def keys_without_user(
    keys: Iterable[Mapping[str, Any]], left_out: Collection[str]
) -> list[Mapping[str, Any]]:
    """The keys that may get a user: they are open, and may send a command. `left_out` are ids of others."""
    return [
        each
        for each in keys
        if each["key_id"] not in left_out and state_of(each) == "open" and USEFUL in each["scopes"]
    ]


def example_of(address: str | None, exchange: str, routing_key: str) -> str:
    """A program that sends one command."""
    scheme, _, host = (address or "amqps://BROKER:5671").partition("://")
    return f"""import datetime, json, uuid
import pika

url = pika.URLParameters("{scheme}://USER:PASSWORD@{host}")
with pika.BlockingConnection(url) as connection:
    channel = connection.channel()
    channel.confirm_delivery()
    command = {{
        "specversion": "1.0",
        "id": uuid.uuid4().hex,
        "source": "/shop",
        "type": "cycle.start",
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "data": {{"brand_slug": "BRAND", "keywords": ["cold brew"]}},
    }}
    about = pika.BasicProperties(
        user_id=url.credentials.username, delivery_mode=2, content_type="application/cloudevents+json"
    )
    channel.basic_publish("{exchange}", "{routing_key}", json.dumps(command).encode(), about, mandatory=True)"""
