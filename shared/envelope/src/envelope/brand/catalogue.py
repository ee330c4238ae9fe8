"""Every message type of the brand engine, once."""

from typing import Final

from envelope.brand import payloads
from envelope.brand.services import SERVICES
from envelope.catalogue import Catalogue, LateRule, command, event

EVENTS: Final = "brand-events"
EVENTS_QUEUE: Final = "orchestrator-events"

_BRAIN: Final = ("orchestrator",)

CATALOGUE: Final = Catalogue(
    title="Brand Engine",
    system="brand_engine",
    services=SERVICES,
    events=EVENTS,
    router="orchestrator",
    events_queue=EVENTS_QUEUE,
    events_queue_formerly=("brand-events",),
    event_log="events",
    takes_from_outside="orchestrator",
    subject=("brand_slug", "keyword", "content_id"),
    identity=("brand_slug",),
    recorder="monitor",
    types=(
        command(
            "research.requested",
            payloads.ResearchRequested,
            to="research",
            producers=_BRAIN,
            late=LateRule.ENDS,
        ),
        event("research.completed", payloads.ResearchCompleted, producers=("research",)),
        event("research.failed", payloads.ResearchFailed, producers=("research",)),
        event("research.waiting", payloads.ResearchWaiting, producers=("research",)),
        command(
            "content.generate",
            payloads.ContentGenerate,
            to="orchestrator",
            producers=_BRAIN,
            late=LateRule.ENDS,
        ),
        event("content.generated", payloads.ContentGenerated, producers=_BRAIN),
        event("content.refused", payloads.ContentRefused, producers=_BRAIN),
        command(
            "content.publish",
            payloads.ContentPublish,
            to="publisher",
            producers=("orchestrator", "publisher"),
            late=LateRule.ENDS_UNBEGUN,
        ),
        command("content.delete", payloads.ContentDelete, to="publisher", producers=_BRAIN),
        event("content.published", payloads.ContentPublished, producers=("publisher",)),
        event("content.publish_failed", payloads.ContentPublishFailed, producers=("publisher",)),
        command(
            "social.create",
            payloads.SocialCreate,
            to="social",
            producers=_BRAIN,
            late=LateRule.ENDS_UNBEGUN,
        ),
        command("link.register", payloads.LinkRegister, to="publisher", producers=("social",)),
        command("post.send", payloads.PostSend, to="social", producers=("social",)),
        event("social.posted", payloads.SocialPosted, producers=("social",)),
        event("social.failed", payloads.SocialFailed, producers=("social",)),
        command("dead_letters.erase", payloads.DeadLettersErase, to="monitor", producers=_BRAIN),
        command("research.erase", payloads.ResearchErase, to="research", producers=_BRAIN),
        command("content.erase", payloads.ContentErase, to="publisher", producers=_BRAIN),
        command("social.erase", payloads.SocialErase, to="social", producers=_BRAIN),
        command("events.erase", payloads.EventsErase, to="events", producers=_BRAIN),
        event(
            "brand.erased",
            payloads.BrandErased,
            producers=("research", "publisher", "social", "monitor", "events"),
        ),
        event("audit.completed", payloads.AuditCompleted, producers=_BRAIN, for_others=True),
        event("cycle.completed", payloads.CycleCompleted, producers=_BRAIN, for_others=True),
        event("drafts.waiting", payloads.DraftsWaiting, producers=_BRAIN, for_others=True),
        event(
            "database.fell_back",
            payloads.DatabaseFellBack,
            producers=("research", "publisher", "social", "monitor", "events"),
        ),
        event("dead_letter.recorded", payloads.DeadLetterRecorded, producers=("monitor",)),
        command("work.finished", payloads.WorkFinished, to="monitor", producers=("orchestrator", "social")),
    ),
)
