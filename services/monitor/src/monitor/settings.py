"""Settings of the service, from environment variables."""

from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from chassis import KeyedSettings, WebAddress, addresses
from chassis.hosts import is_host
from chassis.http.client import Peer
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings
from messaging.settings import BROKER_SCHEMES
from monitor.certificates import https_hosts

_LAST_PORT: Final = 65_535
_PEERS: Final = {
    "gateway": "the gateway",
    "orchestrator": "the orchestrator",
    "social": "social",
    "publisher": "publisher",
    "research": "research",
    "events": "events",
}
"""The services that the monitor calls, as the subjects of sentences."""


def _host_and_port(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not (is_host(host) and port.isascii() and port.isdigit() and 0 < int(port[:6]) <= _LAST_PORT):
        raise ValueError("is not a host with a port; write it like caddy:443")
    return text


def _management_api(address: SecretStr | None) -> SecretStr | None:
    if address is not None:
        addresses.parse(
            address.get_secret_value(),
            schemes={"http", "https"},
            example="http://user:password@host:15672, an administrator's",
        )
    return address


def _public_broker(text: str) -> str:
    parts = addresses.parse(text, schemes=BROKER_SCHEMES, example="amqps://broker.example.org:5671")
    if "@" in parts.netloc:
        raise ValueError("names a user or a password, which have no place in it: it is shown to others")
    return text


def _addresses(text: str) -> str:
    try:
        https_hosts(text)
    except ValueError:
        raise ValueError(
            "are not web addresses; write them like https://a.example.org,https://b.example.org"
        ) from None
    return text


ProxyAddress = Annotated[str, AfterValidator(_host_and_port)]
ManagementAddress = Annotated[SecretStr | None, AfterValidator(_management_api)]
BrokerPublicAddress = Annotated[str, AfterValidator(_public_broker)]
WebAddresses = Annotated[str, AfterValidator(_addresses)]
"""Comma-separated."""


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = Field(default=8014, ge=0, le=65535, description="port of the API")
    retention_days: int = Field(
        default=30, ge=1, description="days after which settled dead letters are deleted; open ones are kept"
    )
    invitation_mails_per_hour: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="most invitations to the console that are mailed within an hour",
    )
    backup_record: Path | None = None
    """File with the time of the last backup; unset: no backup metric."""
    backup_max_age_hours: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="age of the last backup, in hours, at which an alert fires; unset: no alert",
    )
    proxy_address: ProxyAddress | None = None
    """`host:port` of the reverse proxy whose certificates are checked; unset: no checks."""
    certificate_urls: WebAddresses = ""
    """Public addresses, comma-separated; the certificates of those with https are checked."""
    gateway_url: WebAddress | None = None
    """Address of the gateway, which sends notifications; unset: no notifications."""
    monitor_to_gateway_key: PairKeysText = None

    orchestrator_url: WebAddress | None = None
    """Address of the orchestrator, for API keys, notifications and the weekly summary; unset: these lack its data."""
    monitor_to_orchestrator_key: PairKeysText = None
    social_url: WebAddress | None = None
    """Address of social, for effects in doubt, post activity and the ledger; unset: these lack its data."""
    publisher_url: WebAddress | None = None
    """Address of the publisher, for effects in doubt and the ledger; unset: these lack its data."""
    monitor_to_social_key: PairKeysText = None
    monitor_to_publisher_key: PairKeysText = None
    research_url: WebAddress | None = None
    """Address of research, for the ledger; unset: its messages are not in it."""
    monitor_to_research_key: PairKeysText = None
    events_url: WebAddress | None = None
    """Address of events, for the ledger and for notifications of webhooks that are off because nothing arrives; unset: there are
    no such notifications."""
    monitor_to_events_key: PairKeysText = None
    prometheus_url: WebAddress | None = None
    """Address of Prometheus, for the rules on the console's page of alerts; unset: the page says how to connect it."""
    alertmanager_url: WebAddress | None = None
    """Address of Alertmanager, for the alerts and silences on that page; unset: the page says how to connect it."""
    runbook_url: WebAddress | None = None
    """Address below which people find the runbooks that rules name by their path, such as docs/operations/alerts.md."""
    rabbitmq_api_url: ManagementAddress = None
    """Management API of the broker, with an administrator's name and password, for users of other systems; unset: only brandctl
    makes them."""
    broker_public_url: BrokerPublicAddress | None = None
    """Address at which other systems reach the broker, without a user, such as amqps://broker.example.org:5671."""
    ledger_overdue_minutes: float = Field(
        default=10,
        ge=2,
        le=10_000,
        description="minutes after which a message that has left its queue without an outcome is missing",
    )

    @property
    def broker_vhost(self) -> str:
        """The virtual host that RABBITMQ_URL names."""
        return unquote(urlsplit(self.rabbitmq_url.get_secret_value()).path.removeprefix("/")) or "/"

    @model_validator(mode="after")
    def _others_can_be_asked(self) -> Self:
        for name in _PEERS:
            self.peer(name)
        return self

    def peer(self, name: str) -> Peer | None:
        """The named service and the key for it; None without its address.

        Raises:
            ValueError: there is no key for it; the message names the setting.
        """
        url = getattr(self, f"{name}_url")
        if url is None:
            return None
        pair = f"monitor_to_{name}_key"
        key = sent_to(pair.upper(), getattr(self, pair), self.service_key)
        return Peer(_PEERS[name], url, f"{name.upper()}_URL", key)
