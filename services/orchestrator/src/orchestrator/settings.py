"""Settings of the orchestrator; each field is an environment variable, upper-cased."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator

from chassis import KeyedSettings, WebAddress
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings
from orchestrator.cycles import BRAND_ARTICLES, BRAND_RESEARCH, BrandLimits

Hours = Annotated[float, Field(gt=0, le=24 * 365)]
Days = Annotated[float, Field(gt=0, le=3650)]


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8010
    """Port of the API."""

    orchestrator_to_research_key: PairKeysText = None
    orchestrator_to_gateway_key: PairKeysText = None
    research_to_orchestrator_key: PairKeysText = None
    publisher_to_orchestrator_key: PairKeysText = None
    social_to_orchestrator_key: PairKeysText = None
    monitor_to_orchestrator_key: PairKeysText = None
    events_to_orchestrator_key: PairKeysText = None
    gateway_to_orchestrator_key: PairKeysText = None

    research_url: WebAddress = "http://127.0.0.1:8011"
    """Address of research, which the orchestrator asks for sources."""
    research_timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 20.0
    """Timeout of one request to research."""

    gateway_url: WebAddress | None = None
    """Address of the gateway; unset: links of articles are not checked, and audits know of no accounts."""
    pages_url: WebAddress | None = None
    """Internal address of the publisher; unset: the brands' own pages are checked only at their public addresses."""

    writers: Annotated[int, Field(ge=1, le=64)] = 8
    """Articles that a model writes at the same time in one process. Fast writers do not count: one of their articles is composed at a
    time, while up to 32, or as many as this, are read and stored."""
    brand_articles: Annotated[int, Field(ge=1, le=10_000)] = BRAND_ARTICLES
    """Articles of one brand that are written or queued; the others wait, so that brands get turns fairly. Use at least
    WRITERS of all replicas: with less, one brand alone leaves writers idle."""
    brand_research: Annotated[int, Field(ge=1, le=10_000)] = BRAND_RESEARCH
    """Keywords of one brand that are at research or wait for a writer; the others are not sent yet."""
    writing_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 600.0
    """Timeout of one article, reading its research included; past it, the attempt fails. A model's earlier answers
    are kept."""

    model_url: WebAddress | None = None
    """Address of the chat completions API, such as the gateway's `http://gateway:8015/v1`; unset: no model writes. The server there
    receives ORCHESTRATOR_TO_GATEWAY_KEY, or else SERVICE_KEY: use only a server of your own installation."""
    model_name: Annotated[str, Field(min_length=1, max_length=200)] = "model"
    """The model that requests name: at the gateway, that of `brandctl providers connect model`."""
    model_timeout_seconds: Annotated[float, Field(gt=0, le=1800)] = 150.0
    """Timeout of one request to the model; longer than the gateway waits for a slot and for its provider."""
    model_context_tokens: Annotated[int, Field(ge=2048, le=2_000_000)] = 16_384
    """Context window of the model, input and output together; the sources are cut to fit."""

    model_judge: bool | None = None
    """Whether a model judges each sentence against its passages after the rules; unset: if MODEL_CONTEXT_TOKENS is more
    than 4,096. Without a judge, the rules reject most true sentences that the writer rephrased."""
    model_judge_name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """The model that judges; unset: MODEL_NAME. Another model judges better."""
    model_second_judge_name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """A model that reads what the first judge keeps: only what both keep stays. Unset: one judge."""

    stall_after_hours: Hours = 6.0
    """Hours without progress after which a keyword is requested again; after as many more it fails. A later answer
    still continues it."""
    stuck_after_minutes: Annotated[float, Field(gt=0, le=60 * 24 * 30)] = 60.0
    """Minutes without progress or known wait after which an article is shown as stuck;
    at least twice WRITING_TIMEOUT_SECONDS."""
    keep_cycles_days: Days = 90.0
    """Ended cycles and finished workflow steps older than this are deleted; articles are kept."""
    housekeeping_seconds: Annotated[float, Field(gt=0, le=86_400)] = 3600.0
    """Longest sleep between two rounds of the reaper and the clean-up."""

    @property
    def key_for_research(self) -> SecretStr:
        return sent_to("ORCHESTRATOR_TO_RESEARCH_KEY", self.orchestrator_to_research_key, self.service_key)

    @property
    def key_for_gateway(self) -> SecretStr:
        return sent_to("ORCHESTRATOR_TO_GATEWAY_KEY", self.orchestrator_to_gateway_key, self.service_key)

    @property
    def brand_limits(self) -> BrandLimits:
        return BrandLimits(research=self.brand_research, articles=self.brand_articles)

    @property
    def turn_seconds(self) -> float:
        """Seconds after which a writer lets other articles go first; one more step may be running then."""
        return self.writing_timeout_seconds / 2

    @model_validator(mode="after")
    def _answers_come_within_turns(self) -> Self:
        if self.model_url is not None and self.model_timeout_seconds > self.writing_timeout_seconds / 2:
            raise ValueError(
                f"MODEL_TIMEOUT_SECONDS is {self.model_timeout_seconds:g}, so set WRITING_TIMEOUT_SECONDS to twice as much at"
                " least: an answer that comes late must not end the writing of the article"
            )
        return self

    @model_validator(mode="after")
    def _others_can_be_asked(self) -> Self:
        _ = self.key_for_research, self.key_for_gateway
        return self

    @property
    def model_is_at_gateway(self) -> bool:
        gateway = self.gateway_url and f"{self.gateway_url.rstrip('/')}/"
        return gateway is not None and (self.model_url or "").startswith(gateway)

    @property
    def stuck_after(self) -> timedelta:
        """Longer than an attempt may take, so that no active article counts as stuck."""
        return timedelta(seconds=max(self.stuck_after_minutes * 60, 2 * self.writing_timeout_seconds))

    @property
    def stall_after(self) -> timedelta:
        return timedelta(hours=self.stall_after_hours)

    @property
    def keep_cycles(self) -> timedelta:
        return timedelta(days=self.keep_cycles_days)

    @property
    def longest_sleep(self) -> timedelta:
        return timedelta(seconds=self.housekeeping_seconds)
