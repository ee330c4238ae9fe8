"""The composition root: consumers, HTTP API and background loops of the orchestrator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from chassis import ServiceKey
from chassis.http.client import UnavailableError
from chassis.http.service_key import OPERATORS_READING, PairAccess, PairKeys
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
from envelope.brand.settings import MIN_SOURCES
from messaging import Database, QueuePolicy, Service, Transaction, on_batch, on_each
from messaging.ledger_routes import READ_BY_RECORDER
from orchestrator import received_commands, schedule
from orchestrator.accounts import AccountHealthPoller
from orchestrator.api import KeyHolders, RequestAuthenticator, http_api
from orchestrator.article_workflow import REASONS, ContentWorkflow, ResearchClient
from orchestrator.brands import EXTRACTIVE, MODEL, end_quiet_periods, until_a_quiet_period_ends
from orchestrator.cycles import (
    AnswerConfirmation,
    Housekeeping,
    dispatch_overlooked,
    end_late_keywords,
    next_deadline,
    next_release,
    note_commit_losses,
    note_own_loss,
    note_waits,
    route,
    waiting,
)
from orchestrator.erasure import EVERYBODY, ErasureRetrier, GatewayErasure, erase_again, note_receipts
from orchestrator.integration_events import announce_due_events, ignore_events
from orchestrator.links import LinkChecker, LinkProbe
from orchestrator.review import (
    PublicationScheduler,
    StalledRewriteReaper,
    count_drafts,
    until_next_publication,
)
from orchestrator.schedule import Scheduler, count_states
from orchestrator.settings import Settings
from orchestrator.workflows import count_by_state
from writing import StatelessWriter, WriterFactory
from writing.computing import ComputeThread
from writing.extractive.writer import ExtractiveWriter

if TYPE_CHECKING:
    from orchestrator.judge_exams.examiner import JudgeExaminer
    from orchestrator.review.edit_reader import EditReader

ASKED_WHOSE_A_KEY_IS: Final = "GET /v1/keys/{key_id}/introspection"
READ_BY_PUBLISHER: Final = frozenset(
    {
        "GET /v1/content",
        "GET /v1/content/{content_id}",
        "GET /v1/content/{content_id}/versions/{version}",
        ASKED_WHOSE_A_KEY_IS,
    }
)
"""Routes that the publisher may call."""
READ_BY_RESEARCH: Final = frozenset({ASKED_WHOSE_A_KEY_IS})
"""Routes that research may call."""
READ_BY_SOCIAL: Final = frozenset(
    {"GET /v1/brands/{slug}", "GET /v1/content/{content_id}", ASKED_WHOSE_A_KEY_IS}
)
"""Routes that social may call."""
OPEN_TO_EVENTS: Final = frozenset({"POST /v1/messages", ASKED_WHOSE_A_KEY_IS})
"""Routes that events may call; it sends the commands of incoming webhooks."""
READ_BY_MONITOR: Final = frozenset({"GET /v1/activity", *READ_BY_RECORDER, ASKED_WHOSE_A_KEY_IS})
"""Routes that the monitor may call."""

QUICKLY_WRITTEN: Final = 32
"""Articles that fast writers have in hand at a time; they are read and stored in batches."""


def build(settings: Settings, *, other_writers: Mapping[str, WriterFactory] | None = None) -> Service:
    """Builds the service. `other_writers` are added to the built-in writers, or replace those of the same name."""
    service = Service("orchestrator", settings, CATALOGUE)
    research = ResearchClient(
        settings.research_url,
        settings.key_for_research,
        timeout_seconds=settings.research_timeout_seconds,
        research=service.dependency("research", outages=(UnavailableError,)),
    )
    service.closes(research)
    computing = ComputeThread()
    in_hand = max(settings.writers, QUICKLY_WRITTEN)
    models = None if settings.model_url is None else _models(service, settings, settings.model_url)
    writers: dict[str, WriterFactory] = {
        EXTRACTIVE: StatelessWriter(ExtractiveWriter(MIN_SOURCES, computing)),
        **({MODEL: models.writer} if models else {}),
        **(other_writers or {}),
    }
    examiner = models.examiner if models else None
    refusals = service.metrics.counter(
        "articles_refused",
        "Articles that ended without a publication, by reason.",
        "reason",
        values=[(reason,) for reason in REASONS],
    )
    workflow = ContentWorkflow(
        service.database,
        research.fetch,
        writers,
        turn_seconds=settings.turn_seconds,
        hold_seconds=settings.writing_timeout_seconds,
        at_once=settings.writers,
        computing=computing,
        count_refusal=lambda reason: refusals.labels(reason).inc(),
    )
    service.consume(
        "orchestrator-events",
        on_batch(
            partial(route, limits=settings.brand_limits),
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
        on_batch(ignore_events, AuditCompleted, CycleCompleted, DraftsWaiting),
    )
    service.consume(
        "orchestrator-commands",
        on_each(workflow.generate, ContentGenerate),
        policy=QueuePolicy(
            max_concurrency=in_hand,
            handler_timeout=settings.writing_timeout_seconds,
            # A message that would wait here for long is better off with another replica.
            prefetch=in_hand,
        ),
    )
    pairs = [
        PairAccess("publisher", settings.publisher_to_orchestrator_key, READ_BY_PUBLISHER),
        PairAccess("research", settings.research_to_orchestrator_key, READ_BY_RESEARCH),
        PairAccess("social", settings.social_to_orchestrator_key, READ_BY_SOCIAL),
        PairAccess(
            "monitor", settings.monitor_to_orchestrator_key, READ_BY_MONITOR, scopes=OPERATORS_READING
        ),
        PairAccess("events", settings.events_to_orchestrator_key, OPEN_TO_EVENTS),
        PairAccess("gateway", settings.gateway_to_orchestrator_key, frozenset({ASKED_WHOSE_A_KEY_IS})),
    ]
    callers = PairKeys(RequestAuthenticator(service.database, ServiceKey(settings.service_key)), pairs)
    service.serve(
        http_api(
            service.database,
            callers,
            writers=frozenset(writers),
            limits=settings.brand_limits,
            stuck_after=settings.stuck_after,
            judges=judge_names(settings) if examiner else (),
            exam=examiner.plan if examiner else None,
            judges_at_gateway=settings.model_is_at_gateway,
        )
    )
    outside_commands = service.metrics.counter(
        "outside_commands",
        "Messages of other systems at the broker, by outcome.",
        "outcome",
        values=[(outcome.value,) for outcome in received_commands.CommandOutcome],
    )
    service.consume_from_outside(
        received_commands.BrokerCommands(
            service.database,
            settings.brand_limits,
            KeyHolders(service.database).sender_of,
            lambda outcome: outside_commands.labels(outcome).inc(),
        ).take
    )
    service.gauge(
        "articles_waiting",
        "Keywords that wait to be researched or written, by reason.",
        "what",
        waiting,
    )
    service.gauge(
        "workflows",
        "Articles being written or sent to be, by how that goes.",
        "state",
        partial(count_by_state, stuck_after=settings.stuck_after),
    )
    service.on_commit_loss(note_own_loss)
    service.gauge("drafts", "Articles that a person has to decide about, by state.", "state", count_drafts)
    service.gauge(
        "schedules", "Schedules, by state; overdue: active and not fired in time.", "state", count_states
    )
    _add_periodic_work(service, settings)
    if examiner is not None:
        # An exam goes on at once after each question: what it waits for otherwise stands in its row.
        service.poll("judge_exams", examiner.ask_next, every=timedelta(seconds=10))
    if models is not None and models.edit_reader is not None:
        service.poll("edit_readings", models.edit_reader.read_next, every=timedelta(seconds=5))
    return service


def _add_periodic_work(service: Service, settings: Settings) -> None:
    """Every replica does this work; row locks share it."""
    database, limits, stall_after = service.database, settings.brand_limits, settings.stall_after
    housekeeping = Housekeeping(
        database, stall_after=stall_after, keep_cycles=settings.keep_cycles, limits=limits
    )
    service.poll(
        "housekeeping",
        housekeeping.tidy,
        every=settings.longest_sleep,
        next_due=housekeeping.next_stall,
        shortest=timedelta(minutes=1),  # the brand of an overdue keyword may be locked right now
    )
    service.poll(
        "deadlines",
        partial(end_late_keywords, database, limits),
        every=timedelta(seconds=10),  # for requests since the last look
        next_due=next_deadline,
        shortest=timedelta(seconds=1),  # the brand may be locked right now
    )
    service.poll(
        "releases",
        partial(dispatch_overlooked, database, limits),
        every=timedelta(seconds=10),  # for keywords that a crashed replica accepted
        next_due=next_release,
        shortest=timedelta(seconds=1),  # a due brand may be at its limits, or locked
    )
    service.poll("answers", AnswerConfirmation(database).confirm, every=timedelta(seconds=10))
    reaper = StalledRewriteReaper(database, after=stall_after)
    service.poll("returns", reaper.reset_stalled_rewrites, every=min(stall_after, settings.longest_sleep))
    service.poll("received commands", partial(_delete_old_commands, database), every=timedelta(hours=1))
    service.poll("announcements", partial(announce_due_events, database), every=timedelta(minutes=1))
    # What becomes due on another replica is noticed after 15 seconds at the latest.
    service.poll(
        "quiet_hours",
        partial(end_quiet_periods, database),
        every=timedelta(seconds=15),
        next_due=until_a_quiet_period_ends,
    )
    service.poll(
        "appointments",
        PublicationScheduler(database).keep,
        every=timedelta(seconds=15),
        next_due=until_next_publication,
    )
    scheduler = Scheduler(database, limits, keep_firings=settings.keep_cycles)
    service.poll("schedule", scheduler.fire_due, every=timedelta(seconds=15), next_due=schedule.until_next)
    erasure = GatewayErasure(database, settings.gateway_url, settings.key_for_gateway, EVERYBODY)
    service.closes(erasure)
    service.poll("erased accounts", erasure.retry, every=timedelta(minutes=5))
    reminders = ErasureRetrier(database, after=stall_after)
    service.poll("erasures", reminders.remind, every=min(stall_after, timedelta(minutes=10)))
    probe = LinkProbe(settings.gateway_url, settings.pages_url, settings.key_for_gateway)
    service.closes(probe)
    service.poll("links", LinkChecker(database, probe).check_due, every=timedelta(minutes=1))
    if settings.gateway_url is not None:
        accounts = AccountHealthPoller(database, settings.gateway_url, settings.key_for_gateway)
        service.closes(accounts)
        service.poll("accounts", accounts.look, every=timedelta(minutes=1))


async def _ask_again_after_losses(events: Sequence[DomainMessage[DatabaseFellBack]], tx: Transaction) -> None:
    await note_commit_losses(events, tx)
    await erase_again(events, tx)


async def _delete_old_commands(database: Database) -> None:
    async with database.connection() as connection:
        await received_commands.delete_old(connection)


def judge_names(settings: Settings) -> tuple[str, ...]:
    """Returns the models that judge each sentence, in the order in which they read; empty if none does.

    By default only a model with a larger context window judges; a small one judges badly.
    """
    from writing.model.writer import SMALL_CONTEXT  # noqa: PLC0415

    judges = settings.model_judge
    if not (settings.model_context_tokens > SMALL_CONTEXT if judges is None else judges):
        return ()
    names = (settings.model_judge_name or settings.model_name, settings.model_second_judge_name)
    return tuple(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True, slots=True)
class _Models:
    """The models that write and judge. Without a model's address, the service does not depend on one."""

    writer: WriterFactory
    examiner: "JudgeExaminer | None"
    """None if no model judges."""
    edit_reader: "EditReader | None"
    """None if no model judges."""


def _models(service: Service, settings: Settings, url: str) -> _Models:
    # Where no model is, all this would take 2.4 MB for nothing.
    from orchestrator.article_workflow.model_chat import ChatClient  # noqa: PLC0415
    from orchestrator.judge_exams.examiner import JudgeExaminer  # noqa: PLC0415
    from orchestrator.review.edit_reader import EditReader  # noqa: PLC0415
    from writing.model.sections import VERDICTS  # noqa: PLC0415
    from writing.model.writer import ANSWER_SHARE, CHARACTERS_A_TOKEN, ModelWriter  # noqa: PLC0415

    def chat(name: str, what: str) -> ChatClient:
        made = ChatClient(
            url,
            settings.key_for_gateway,
            model=name,
            timeout_seconds=settings.model_timeout_seconds,
            dependency=service.dependency(what, outages=(UnavailableError,)),
        )
        service.closes(made)
        return made

    model = chat(settings.model_name, "model")
    judges = {
        name: model if name == settings.model_name else chat(name, what)
        for name, what in zip(judge_names(settings), ("judge", "second judge"), strict=False)
    }
    examiner = edit_reader = None
    if judges:
        edit_reader = EditReader(
            service.database,
            list(judges.values()),
            max_tokens=settings.model_context_tokens // ANSWER_SHARE,
            room=settings.model_context_tokens * CHARACTERS_A_TOKEN // 2,
            lease=timedelta(seconds=10 * settings.model_timeout_seconds),
        )
        examiner = JudgeExaminer(
            service.database,
            judges,
            max_tokens=settings.model_context_tokens // ANSWER_SHARE,
            lease=timedelta(seconds=2 * settings.model_timeout_seconds + 60),
        )
    sentences = service.metrics.counter(
        "draft_sentences",
        "Sentences that a model wrote, by outcome.",
        "verdict",
        values=[(verdict,) for verdict in VERDICTS],
    )
    judge, second_judge, *_ = (*judges.values(), None, None)
    writer = partial(
        ModelWriter,
        model,
        context_tokens=settings.model_context_tokens,
        judge=judge,
        second_judge=second_judge,
        count_verdict=lambda verdict, times: sentences.labels(verdict).inc(times),
    )
    return _Models(writer, examiner, edit_reader)
