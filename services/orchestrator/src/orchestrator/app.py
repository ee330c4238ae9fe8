"""The composition root: what the orchestrator consumes, serves and does in the background."""

from chassis import ServiceKey
from chassis.http.client import UnavailableError
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    ContentGenerate,
    ContentGenerated,
    ContentPublished,
    ContentPublishFailed,
    DeadLetterRecorded,
    ResearchCompleted,
    ResearchFailed,
    SocialFailed,
    SocialPosted,
)
from messaging import QueuePolicy, Service, on_batch, on_each
from orchestrator.api import http_api
from orchestrator.cycles import Housekeeping, route
from orchestrator.settings import Settings
from orchestrator.writing import ContentWorkflow, ResearchClient
from orchestrator.writing.extractive import ExtractiveWriter


def build(settings: Settings) -> Service:
    service = Service("orchestrator", settings, CATALOGUE)
    research = ResearchClient(
        settings.research_url,
        settings.service_key,
        timeout_seconds=settings.research_timeout_seconds,
        research=service.dependency("research", outages=(UnavailableError,)),
    )
    workflow = ContentWorkflow(service.database, research.fetch, ExtractiveWriter())
    housekeeping = Housekeeping(
        service.database,
        stall_after=settings.stall_after,
        keep_cycles=settings.keep_cycles,
        longest_sleep=settings.longest_sleep,
    )
    service.consume(
        "orchestrator-events",
        on_batch(
            route,
            ResearchCompleted,
            ResearchFailed,
            ContentGenerated,
            ContentPublished,
            ContentPublishFailed,
            SocialPosted,
            SocialFailed,
            DeadLetterRecorded,
        ),
    )
    service.consume(
        "orchestrator-commands",
        on_each(workflow.generate, ContentGenerate),
        policy=QueuePolicy(
            max_concurrency=settings.writers, handler_timeout=settings.writing_timeout_seconds
        ),
    )
    service.serve(http_api(service.database, ServiceKey(settings.service_key)))
    service.background("housekeeping", housekeeping.run)
    return service
