"""Settings that all processes share; each process adds its own in a subclass."""

import os
import re
from collections.abc import Collection
from ipaddress import ip_network
from typing import Annotated, Any, Final, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from chassis import addresses, secret_files
from chassis.hosts import explain_bad_host, is_host
from chassis.service_keys import ServiceKeyText

_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]|\s")
_LONGEST_ADDRESS: Final = 2_000


def _web_address(url: str) -> str:
    wrong = ValueError("is no web address; write it like https://example.org or http://127.0.0.1:8000")
    if len(url) > _LONGEST_ADDRESS:
        raise ValueError(f"is longer than {_LONGEST_ADDRESS:,} characters")
    if _UNFIT.search(url):
        raise ValueError(
            "has spaces, control characters or backslashes in it; leave them out, or encode them with %"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if (
        parts.scheme not in {"http", "https"}
        or not parts.hostname
        or parts.query
        or parts.fragment
        or port == 0
    ):
        raise wrong
    if "@" in url:
        raise ValueError("names a user or a password, which have no place in it: it is shown to others")
    if not is_host(parts.hostname):
        raise ValueError(explain_bad_host(parts.hostname))
    return url.rstrip("/")


WebAddress = Annotated[str, AfterValidator(_web_address)]
"""An HTTP address: a host and perhaps a path, without query, user and final slash."""


def secret_address(schemes: Collection[str], example: str) -> AfterValidator:
    """Return the validator of a setting that is an address with a password."""

    def check(address: SecretStr) -> SecretStr:
        addresses.parse(address.get_secret_value(), schemes=schemes, example=example)
        return address

    return AfterValidator(check)


DatabaseAddress = Annotated[
    SecretStr,
    secret_address({"postgresql", "postgres"}, "postgresql://user:password@host:5432/name"),
]


def _proxies(given: object) -> object:
    """Split the comma-separated text of a variable.

    Raises:
        ValueError: a part is neither an address nor a network.
    """
    if not isinstance(given, str):
        return given
    parts = tuple(part.strip() for part in given.split(",") if part.strip())
    for part in parts:
        try:
            ip_network(part)
        except ValueError:
            raise ValueError(
                f"'{part[:60]}' is neither an address nor a network; write them like 10.0.0.5, 10.1.0.0/16"
            ) from None
    return parts


Proxies = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_proxies)]


class ProcessSettings(BaseSettings):
    """Settings from environment variables with the upper-case field names; secrets also from the files in `<NAME>_FILE`."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - there is none
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - a folder with all of them, which nobody has
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, _SecretFiles(settings_cls), env_settings


class _SecretFiles(PydanticBaseSettingsSource):
    def __call__(self) -> dict[str, Any]:
        found = {
            name: secret_files.read(os.environ, name.upper())
            for name, field in self.settings_cls.model_fields.items()
            if is_secret(field)
        }
        return {name: value for name, value in found.items() if value is not None}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return None, field_name, False


def is_secret(field: FieldInfo) -> bool:
    """Return whether a setting is a secret, which is hidden wherever it is printed."""
    return SecretStr in {field.annotation, *get_args(field.annotation)}


class DatabaseSettings(ProcessSettings):
    """The address of the process's own database."""

    database_url: DatabaseAddress
    """`postgresql://user:password@host:5432/name`, this process's own database."""


class MigrationSettings(DatabaseSettings):
    """The settings of a migration; it gets no service key."""

    database_runtime_role: Annotated[str, Field(min_length=1)] | None = None
    """The role of the running process, if the role of `database_url` only owns the tables. Unset: one role does both."""


class KeyedSettings(ProcessSettings):
    """Settings of processes that check the service key or call others with it; no other process gets the key."""

    service_key: ServiceKeyText
    """The key that operators send as `X-Service-Key`, or its hash, `sha256:…`. The process sends the key itself to other services
    with which it shares no pair key."""


class AppSettings(DatabaseSettings):
    """Settings of every process, with or without an API."""

    http_host: str = "127.0.0.1"
    """Address at which the process listens."""
    http_port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port of the API; 0: a free one."""
    http_connections: Annotated[int, Field(ge=16, le=100_000)] = 512
    """Maximum of open connections; beyond it, the longest idle one is closed. Requests: half as many. Health checks are always
    answered."""
    trusted_proxies: Proxies = ()
    """Addresses and networks of reverse proxies, `10.0.0.5, 10.1.0.0/16`. `X-Forwarded-For` is trusted only from these."""
    metrics_port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """Port of `/metrics`, instead of `http_port`: for a process with a public port."""
    database_connections: Annotated[int, Field(ge=2, le=100)] = 10
    """Maximum of connections of one process to its database."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level of the lines that are logged."""
    log_format: Literal["json", "console"] = "json"
    """JSON for programs, or lines for people."""
    otel_exporter_otlp_endpoint: str | None = None
    """`http://host:4318`, the receiver of spans as OTLP over HTTP. Unset: no tracing."""
    service_version: str | None = None
    """Version of the service in spans; images set it."""
    revision: str = ""
    """Revision of the sources in `/metrics`; images set it."""
    keep_audit_log_days: Annotated[float, Field(ge=30, le=3650)] = 400.0
    """Days that entries of the audit log are kept."""
    shutdown_grace_seconds: Annotated[float, Field(ge=0)] = 20.0
    """Seconds to finish current work at SIGTERM."""
