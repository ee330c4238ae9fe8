"""Settings of every service with queues; each service adds its own in a subclass."""

from typing import Annotated, Final

from pydantic import Field, SecretStr

from chassis.settings import AppSettings, secret_address

BROKER_SCHEMES: Final = frozenset({"amqp", "amqps"})
BROKER_EXAMPLE: Final = "amqp://user:password@host:5672/vhost"

BrokerAddress = Annotated[SecretStr, secret_address(BROKER_SCHEMES, BROKER_EXAMPLE)]


class ServiceSettings(AppSettings):
    """Settings of every service; one with an API adds `chassis.KeyedSettings`."""

    rabbitmq_url: BrokerAddress
    """`amqp://user:password@host:5672/vhost`."""
    max_attempts: Annotated[int, Field(ge=1)] | None = None
    """Attempts before a message is dead-lettered; unset: the value of each queue's policy (5)."""
    retry_base_seconds: Annotated[float, Field(gt=0)] | None = None
    """Wait before the second attempt, doubled for each further one; unset: the policy's value (30)."""
    message_ledger: bool = True
    """Whether sent messages are recorded, so that the ledger can find those that have no outcome."""
