"""Settings of the console; each field is an environment variable, upper-cased."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from chassis import AppSettings, WebAddress
from chassis.service_keys import ServiceKeyText

Hours = Annotated[float, Field(gt=0, le=24 * 365)]


class Settings(AppSettings):
    http_port: Annotated[int, Field(ge=0, le=65535)] = 8016
    """Port of the pages."""
    http_connections: Annotated[int, Field(ge=16, le=100_000)] = 2_048
    """Open connections, of which each tab with live updates keeps one."""
    service_key: ServiceKeyText
    """The hash of the operators' key, `sha256:…`, or the key itself. The console never sends it: people's own keys do."""
    console_url: WebAddress = "http://127.0.0.1:8016"
    """Address at which people open the console; with a path if a proxy serves it below one."""
    installation_name: Annotated[str, Field(min_length=1, max_length=60)] = "Brand Engine"
    """Name that the bar of every page shows, such as `Staging`."""
    orchestrator_url: WebAddress = "http://127.0.0.1:8010"
    """Internal address of the orchestrator."""
    research_url: WebAddress = "http://127.0.0.1:8011"
    """Internal address of research."""
    publisher_url: WebAddress = "http://127.0.0.1:8012"
    """Internal address of the publisher."""
    social_url: WebAddress = "http://127.0.0.1:8013"
    """Internal address of social."""
    monitor_url: WebAddress = "http://127.0.0.1:8014"
    """Internal address of the monitor."""
    events_url: WebAddress = "http://127.0.0.1:8017"
    """Internal address of events."""
    gateway_url: WebAddress = "http://127.0.0.1:8015"
    """Internal address of the gateway."""
    jaeger_public_url: WebAddress | None = None
    """Address of Jaeger for browsers; pages of chains link to their traces there. Unset: they do not."""
    service_seconds: Annotated[float, Field(gt=0, le=300)] = 10.0
    """Timeout of one request to a service; past it, the page says that the service is away."""
    session_idle_hours: Hours = 12.0
    """Hours without a request after which a session ends."""
    session_hours: Hours = 14 * 24.0
    """Hours after which a session ends in any case."""
    oidc_name: Annotated[str, Field(max_length=40)] = ""
    """What people call the identity provider that the gateway knows (OIDC_ISSUER); empty: nobody signs in there."""
    oidc_session_hours: Hours = 12.0
    """Hours after which a session that was begun there ends in any case, so that a person who loses that access loses the console, too."""
    assistants: bool = True
    """Whether assistants with an API key may use their tools at the path /mcp of CONSOLE_URL."""
    live_seconds: Annotated[float, Field(ge=0.1, le=60)] = 2.0
    """Interval of reading what open pages show; tabs of people with the same role and brands share it."""
    live_reads_per_second: Annotated[float, Field(ge=1, le=10_000)] = 14.0
    """Most readings a second for all open pages of one process; with more pages, each is read less often."""
    live_streams_per_person: Annotated[int, Field(ge=1, le=1_000)] = 20
    """Most tabs of one person that get live updates from one process."""
    live_streams: Annotated[int, Field(ge=1, le=100_000)] = 500
    """Most tabs that get live updates from one process; each is a request under way, of half HTTP_CONNECTIONS."""

    @property
    def session_idle(self) -> timedelta:
        return timedelta(hours=self.session_idle_hours)

    @property
    def session_age(self) -> timedelta:
        return timedelta(hours=self.session_hours)

    @property
    def service_urls(self) -> dict[str, str]:
        """Base URLs by service."""
        names = ("orchestrator", "research", "publisher", "social", "monitor", "events", "gateway")
        return {name: getattr(self, f"{name}_url") for name in names}
