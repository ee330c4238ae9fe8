"""The services with lists of messages are those that consume messages."""

from client.message_services import MESSAGE_SERVICES
from envelope.brand import SERVICES


def test_the_services_with_lists_of_messages_are_those_of_the_registry() -> None:
    assert MESSAGE_SERVICES == SERVICES
