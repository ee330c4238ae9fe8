"""What every service that consumes queues is configured with; each adds its own fields in a subclass."""

from typing import Annotated, Final

from pydantic import Field, SecretStr

from chassis.settings import AppSettings, secret_address

BROKER_SCHEMES: Final = frozenset({"amqp", "amqps"})
BROKER_EXAMPLE: Final = "amqp://user:password@host:5672/vhost"

BrokerAddress = Annotated[SecretStr, secret_address(BROKER_SCHEMES, BROKER_EXAMPLE)]


class ServiceSettings(AppSettings):
    """What every service takes; one with an API adds `chassis.KeyedSettings`."""

    rabbitmq_url: BrokerAddress
    """`amqp://user:password@host:5672/vhost`."""
    max_attempts: Annotated[int, Field(ge=1)] | None = None
    """Attempts before a message is dead-lettered; unset: what each queue's policy says (5)."""
    retry_base_seconds: Annotated[float, Field(gt=0)] | None = None
    """Wait before the second attempt, doubled for each further one; unset: what the policy says (30)."""
