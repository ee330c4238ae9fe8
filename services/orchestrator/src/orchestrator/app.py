"""The composition root: what the orchestrator consumes, serves and does in the background."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from chassis import ServiceKey
from chassis.http.client import UnavailableError
from chassis.http.service_key import PairAccess, PairKeys
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    AuditCompleted,
    BrandErased,
    ContentGenerate,
    ContentGenerated,
    ContentPublished,
    ContentPublishFailed,
    ContentRefused,
    CycleCompleted,
    DatabaseFellBack,
    DeadLetterRecorded,
    DraftsWaiting,
    ResearchCompleted,
    ResearchFailed,
    ResearchWaiting,
    SocialFailed,
    SocialPosted,
)
from messaging import QueuePolicy, Service, Transaction, on_batch, on_each
from orchestrator.accounts import Watching
from orchestrator.api import KnownCallers, http_api
from orchestrator.brands import EXTRACTIVE, MODEL, QuietPeriods
from orchestrator.computing import Computing
from orchestrator.cycles import (
    AnswerConfirmation,
    Housekeeping,
    Releases,
    note_commit_losses,
    note_own_loss,
    note_waits,
    route,
    waiting,
)
from orchestrator.erasure import EVERYBODY, Accounts, Reminders, erase_again, note_receipts
from orchestrator.links import Asking, Checking
from orchestrator.outside import Announcements, let_go
from orchestrator.review import Appointments, Returns, count_drafts
from orchestrator.schedule import Scheduler, count_states
from orchestrator.settings import Settings
from orchestrator.tallies import Tally
from orchestrator.workflows import in_states
from orchestrator.writing import ContentWorkflow, Quick, ResearchClient, WriterAt
from orchestrator.writing.extractive import ExtractiveWriter

ASKED_WHOSE_A_KEY_IS: Final = "GET /v1/keys/{key_id}/introspection"
READ_BY_PUBLISHER: Final = frozenset(
    {"GET /v1/content", "GET /v1/content/{content_id}", ASKED_WHOSE_A_KEY_IS}
)
"""What the publisher's key opens."""
READ_BY_RESEARCH: Final = frozenset({ASKED_WHOSE_A_KEY_IS})
"""What research's key opens."""
READ_BY_SOCIAL: Final = frozenset(
    {"GET /v1/brands/{slug}", "GET /v1/content/{content_id}", ASKED_WHOSE_A_KEY_IS}
)
"""What social's key opens."""
READ_BY_MONITOR: Final = frozenset({"GET /v1/activity", ASKED_WHOSE_A_KEY_IS})
"""What the monitor's key opens."""

QUICKLY_WRITTEN: Final = 32
"""Articles in hand at the same time: what writers who take milliseconds have in hand together is read and stored together."""


def build(settings: Settings, *, other_writers: Mapping[str, WriterAt] | None = None) -> Service:
    """The service; `other_writers` are there beside ours, or in the place of the one with their name."""
    service = Service("orchestrator", settings, CATALOGUE)
    research = ResearchClient(
        settings.research_url,
        settings.key_for_research,
        timeout_seconds=settings.research_timeout_seconds,
        research=service.dependency("research", outages=(UnavailableError,)),
    )
    service.closes(research)
    computing = Computing()
    in_hand = max(settings.writers, QUICKLY_WRITTEN)
    writers = {**_writers(service, settings, computing), **(other_writers or {})}
    workflow = ContentWorkflow(
        service.database,
        research.fetch,
        writers,
        turn_seconds=settings.turn_seconds,
        hold_seconds=settings.writing_timeout_seconds,
        at_once=settings.writers,
        computing=computing,
    )
    housekeeping = Housekeeping(
        service.database,
        stall_after=settings.stall_after,
        keep_cycles=settings.keep_cycles,
        longest_sleep=settings.longest_sleep,
        room=settings.room,
    )
    service.consume(
        "orchestrator-events",
        on_batch(
            partial(route, room=settings.room),
            ResearchCompleted,
            ResearchFailed,
            ContentGenerated,
            ContentRefused,
            ContentPublished,
            ContentPublishFailed,
            SocialPosted,
            SocialFailed,
            DeadLetterRecorded,
        ),
        on_batch(note_waits, ResearchWaiting),
        on_batch(_ask_again_after_losses, DatabaseFellBack),
        on_batch(partial(note_receipts, has_gateway=settings.gateway_url is not None), BrandErased),
        on_batch(let_go, AuditCompleted, CycleCompleted, DraftsWaiting),
    )
    service.consume(
        "orchestrator-commands",
        on_each(workflow.generate, ContentGenerate),
        policy=QueuePolicy(
            max_concurrency=in_hand,
            handler_timeout=settings.writing_timeout_seconds,
            # What would wait here for long is better off with another replica.
            prefetch=in_hand,
        ),
    )
    pairs = [
        PairAccess("publisher", settings.publisher_to_orchestrator_key, READ_BY_PUBLISHER),
        PairAccess("research", settings.research_to_orchestrator_key, READ_BY_RESEARCH),
        PairAccess("social", settings.social_to_orchestrator_key, READ_BY_SOCIAL),
        PairAccess("monitor", settings.monitor_to_orchestrator_key, READ_BY_MONITOR),
    ]
    callers = PairKeys(KnownCallers(service.database, ServiceKey(settings.service_key)), pairs)
    service.serve(
        http_api(
            service.database,
            callers,
            writers=frozenset(writers),
            room=settings.room,
            stuck_after=settings.stuck_after,
        )
    )
    service.gauge(
        "articles_waiting",
        "Keywords that wait to be researched or written, by what they wait for.",
        "what",
        waiting,
    )
    service.metrics.add_collector(workflow.refusals.shown(service.metrics.families))
    service.gauge(
        "workflows",
        "Articles being written or sent to be, by how that goes.",
        "state",
        partial(in_states, stuck_after=settings.stuck_after),
    )
    service.background("housekeeping", housekeeping.run)
    service.background("quiet_hours", QuietPeriods(service.database).run)
    service.on_commit_loss(note_own_loss)
    service.background("answers", AnswerConfirmation(service.database).run)
    service.background("releases", Releases(service.database, settings.room).run)
    returns = Returns(service.database, after=settings.stall_after, longest_sleep=settings.longest_sleep)
    service.background("returns", returns.run)
    service.background("announcements", Announcements(service.database).run)
    service.background("appointments", Appointments(service.database).run)
    service.gauge("drafts", "Articles that a person has to decide about, by state.", "state", count_drafts)
    scheduler = Scheduler(service.database, settings.room, keep_firings=settings.keep_cycles)
    service.background("schedule", scheduler.run)
    accounts = Accounts(service.database, settings.gateway_url, settings.key_for_gateway, EVERYBODY)
    service.closes(accounts)
    service.background("erased accounts", accounts.run)
    service.background("erasures", Reminders(service.database, after=settings.stall_after).run)
    asking = Asking(settings.gateway_url, settings.pages_url, settings.key_for_gateway)
    service.closes(asking)
    service.background("links", Checking(service.database, asking).run)
    watching = Watching(service.database, settings.gateway_url, settings.key_for_gateway)
    service.closes(watching)
    service.background("accounts", watching.run)
    service.gauge(
        "schedules", "Schedules, by state; overdue: active and not fired in time.", "state", count_states
    )
    return service


async def _ask_again_after_losses(events: Sequence[DomainMessage[DatabaseFellBack]], tx: Transaction) -> None:
    await note_commit_losses(events, tx)
    await erase_again(events, tx)


def judges(settings: Settings) -> bool:
    """Whether sentences are read a second time. What has little room is a toy, and no judge, unless somebody says so."""
    from orchestrator.writing.model import SMALL_CONTEXT  # noqa: PLC0415

    if settings.model_judge is None:
        return settings.model_context_tokens > SMALL_CONTEXT
    return settings.model_judge


def _writers(service: Service, settings: Settings, computing: Computing) -> dict[str, WriterAt]:
    """By the names that brands choose them by. Without a model's address there is no dependency on one either."""
    writers: dict[str, WriterAt] = {EXTRACTIVE: Quick(ExtractiveWriter(computing))}
    if settings.model_url is not None:
        writers[MODEL] = _model_writer(service, settings, settings.model_url)
    return writers


def _model_writer(service: Service, settings: Settings, url: str) -> WriterAt:
    # Where no model is, its writer would take 2.4 MB for nothing.
    from orchestrator.writing.model import VERDICTS, Chat, ModelWriter  # noqa: PLC0415

    def chat(name: str, what: str) -> Chat:
        made = Chat(
            url,
            settings.key_for_gateway,
            model=name,
            timeout_seconds=settings.model_timeout_seconds,
            dependency=service.dependency(what, outages=(UnavailableError,)),
        )
        service.closes(made)
        return made

    model = chat(settings.model_name, "model")
    judge, name = None, settings.model_judge_name or settings.model_name
    if judges(settings):
        judge = model if name == settings.model_name else chat(name, "judge")
    sentences = Tally(
        "draft_sentences", "Sentences that a model wrote, by what became of them.", "verdict", VERDICTS
    )
    service.metrics.add_collector(sentences.shown(service.metrics.families))
    return partial(
        ModelWriter,
        model,
        context_tokens=settings.model_context_tokens,
        judge=judge,
        sentences=sentences,
    )
