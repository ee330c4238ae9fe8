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

    orchestrator_to_research_key: PairKeysText = None
    """What research is asked with; several with commas between them, of which the first is sent. Unset: SERVICE_KEY."""
    orchestrator_to_gateway_key: PairKeysText = None
    """The same for the gateway."""
    research_to_orchestrator_key: PairKeysText = None
    publisher_to_orchestrator_key: PairKeysText = None
    social_to_orchestrator_key: PairKeysText = None
    monitor_to_orchestrator_key: PairKeysText = None
    """What these ask with; each of several opens what it reads, and nothing else."""

    research_url: WebAddress = "http://127.0.0.1:8011"
    """Where the research service answers GET /v1/research/{id}."""
    research_timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 20.0
    """For one whole answer of research."""

    gateway_url: WebAddress | None = None
    """Where the gateway answers; None: nobody looks whether sources that articles refer to are still there, and
    audits know of no accounts."""
    pages_url: WebAddress | None = None
    """Where the publisher answers, inside; None: of the brands' own pages only what the gateway sees of their public addresses is known."""

    writers: Annotated[int, Field(ge=1, le=64)] = 8
    """Articles that a model writes at the same time in one process; more of them wait. Those that take milliseconds are not counted:
    one of them is being composed, the others read and store, 32 in hand at the most or as many as this."""
    brand_articles: Annotated[int, Field(ge=1, le=10_000)] = BRAND_ARTICLES
    """Articles of one brand that are being written or queued for it; its others wait, so that brands take turns. At least
    WRITERS of all replicas, or one brand alone leaves some of them idle."""
    brand_research: Annotated[int, Field(ge=1, le=10_000)] = BRAND_RESEARCH
    """Keywords of one brand that are at research, or researched and waiting for a writer; its others are not sent yet."""
    writing_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 600.0
    """For one article, reading its research included; past it, the attempt counts as failed. What a model has answered by
    then is kept."""

    model_url: WebAddress | None = None
    """Where POST …/chat/completions is answered, such as the gateway's `http://gateway:8015/v1`; None: no model writes.
    Whoever answers there is sent the service key."""
    model_name: Annotated[str, Field(min_length=1, max_length=200)] = "model"
    """The model that requests name: at the gateway, that of `brandctl providers connect model`."""
    model_timeout_seconds: Annotated[float, Field(gt=0, le=1800)] = 150.0
    """For one whole answer of the model; more than the gateway waits for a turn and for its provider."""
    model_context_tokens: Annotated[int, Field(ge=2048, le=2_000_000)] = 16_384
    """What the model takes and gives in one exchange; of the sources, as much is shown to it as fits."""

    model_judge: bool | None = None
    """Whether a model reads each sentence against its passages a second time, after code; unset: where MODEL_CONTEXT_TOKENS is more
    than 4,096. Without, the rules on words decide alone, and most true sentences in a writer's own words are lost."""
    model_judge_name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """The model that judges; unset: the one that writes. Another one is the better judge."""

    stall_after_hours: Hours = 6.0
    """A keyword that has not moved for so long is asked for once more, and failed after as long again; an answer that comes later
    still takes it up."""
    stuck_after_minutes: Annotated[float, Field(gt=0, le=60 * 24 * 30)] = 60.0
    """Without a sign of it for so long, and without a known wait, an article that is being written is shown as stuck;
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
        """After which no further step of an article is begun before others had their turn: one more may be under way then."""
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
    def stuck_after(self) -> timedelta:
        """Longer than an attempt may take: what somebody still works on is not stuck."""
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
