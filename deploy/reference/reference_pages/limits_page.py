"""docs/reference/limits.md: the bounds that users meet, with the values of the constants in the code."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from envelope.brand import DEPLOYED
from reference_pages.http_page import larger_body
from reference_pages.tables import table

_INTRODUCTION: Final = """\
# Limits

The bounds that people and programs meet. `make schemas` makes this page with the values of the code. A request beyond a bound gets
a refusal that names the bound. [Settings](settings.md) has the bounds that an operator chooses.
"""
_BYTES: Final = "bytes"
_PLAIN: Final = ""
_SIZES: Final = (
    (1_000_000_000, "GB"),
    (1_000_000, "MB"),
    (1_000, "kB"),
    (1024 * 1024, "MiB"),
    (1024, "KiB"),
    (1, "bytes"),
)

Limit = tuple[str, str, str]
"""What is limited, the place of the constant (`module:NAME`), the unit (`bytes`, another noun, or nothing)."""

LIMITS: Final[Mapping[str, Sequence[Limit]]] = {
    "Requests to an API": (
        (
            "body of a request, unless [another bound](#larger-bodies) applies",
            "chassis.http.guard:MAX_BODY_BYTES",
            _BYTES,
        ),
        ("fields and entries in a body", "chassis.http.guard:MAX_VALUES", _PLAIN),
        ("fields and entries in a larger body", "chassis.http.guard:MAX_VALUES_OF_LARGER", _PLAIN),
        ("files that one process receives at the same time", "chassis.http.guard:FILES_AT_A_TIME", _PLAIN),
        ("request line and headers", "chassis.http.limits:MAX_HEAD_BYTES", _BYTES),
        ("`Idempotency-Key`", "chassis.http.idempotency:MAX_KEY", "characters"),
        ("entries on a page of a list (`limit`)", "chassis.http.conventions.pages:MAX_PAGE", _PLAIN),
        ("invalid fields that a refusal names", "chassis.http.api:MAX_ERRORS", _PLAIN),
    ),
    "Keys": (
        (
            "requests in a minute, for a key with the scope `read` (of several scopes, the highest)",
            "orchestrator.api.keys.domain:PER_MINUTE[read]",
            _PLAIN,
        ),
        ("… `submit`", "orchestrator.api.keys.domain:PER_MINUTE[submit]", _PLAIN),
        ("… `review`", "orchestrator.api.keys.domain:PER_MINUTE[review]", _PLAIN),
        ("… `operate`", "orchestrator.api.keys.domain:PER_MINUTE[operate]", _PLAIN),
        ("… `repair`", "orchestrator.api.keys.domain:PER_MINUTE[repair]", _PLAIN),
        ("… `admin`", "orchestrator.api.keys.domain:PER_MINUTE[admin]", _PLAIN),
        (
            "requests in a minute that an operator may choose for a key",
            "orchestrator.api.keys.domain:MOST",
            _PLAIN,
        ),
        ("name of a key", "orchestrator.api.keys.models:MAX_NAME", "characters"),
        ("brands that a key is bound to", "orchestrator.api.keys.models:MAX_BRANDS", _PLAIN),
        ("time for which a rotated key stays valid", "orchestrator.api.keys.models:LONGEST_GRACE", _PLAIN),
    ),
    "Brands, keywords and schedules": (
        ("short name of a brand (slug)", "envelope.brand.payloads:MAX_BRAND_SLUG", "characters"),
        ("keywords in a cycle", "orchestrator.cycles.models:MAX_KEYWORDS", _PLAIN),
        ("a keyword", "orchestrator.cycles.models:MAX_KEYWORD_LENGTH", "characters"),
        ("lines of an uploaded list of keywords", "orchestrator.cycles.lists:MAX_LINES", _PLAIN),
        ("keywords in an uploaded list", "orchestrator.cycles.lists:MAX_ENTRIES", _PLAIN),
        ("spellings of keywords in one answer", "orchestrator.cycles.routes:MAX_SPELLINGS", _PLAIN),
        ("schedules of a brand", "orchestrator.schedule.making:MAX_SCHEDULES", _PLAIN),
        ("keywords in a schedule", "orchestrator.schedule.models:MAX_KEYWORDS", _PLAIN),
        (
            "time from now to the deadline of a request",
            "orchestrator.cycles.models:_LONGEST_DEADLINE",
            _PLAIN,
        ),
        ("names of brands in one answer", "orchestrator.brands.routes:MAX_NAMES", _PLAIN),
        (
            "commands in one request to `/v1/messages`",
            "orchestrator.received_commands.routes:MAX_MESSAGES",
            _PLAIN,
        ),
    ),
    "Sources and uploads": (
        ("a document: HTML, Markdown, text", "reading.formats:MAX_BYTES", _BYTES),
        ("a PDF", "reading.formats:MAX_PDF_BYTES", _BYTES),
        ("uploaded documents of a brand", "research.uploads.store:MAX_DOCUMENTS", _PLAIN),
        ("all uploaded documents of a brand", "research.uploads.store:MAX_BYTES", _BYTES),
        ("researches that one request asks for", "research.http_api:MAX_IDS", _PLAIN),
        ("addresses that a brand names", "research.sources.domain:MAX_URLS", _PLAIN),
        ("feeds of a brand", "research.sources.domain:MAX_FEEDS", _PLAIN),
        ("blocked, preferred or own hosts, each", "research.sources.domain:MAX_HOSTS", _PLAIN),
        ("searches for a keyword", "research.sources.domain:MAX_QUERIES", _PLAIN),
        ("pages of a search that are read for a keyword", "research.web.candidates:MAX_FOUND", _PLAIN),
        ("pages of one site among them", "research.web.candidates:MAX_OF_SITE", _PLAIN),
        ("entries of feeds that are read for a keyword", "research.web.candidates:MAX_OF_FEEDS", _PLAIN),
        ("text that is read of a page", "research.web.pages:MAX_CHARACTERS", "characters"),
    ),
    "Drafts and review": (
        ("articles whose state one request asks for", "orchestrator.article_workflow.routes:MAX_IDS", _PLAIN),
        ("a comment with a decision", "review.decisions:MAX_COMMENT", "characters"),
        ("drafts that one request decides about", "orchestrator.review.routes:MAX_DECISIONS", _PLAIN),
        ("open proposals for a draft", "orchestrator.review.proposals:MOST_OPEN", _PLAIN),
        (
            "text of a draft that is checked or edited",
            "orchestrator.article_workflow.models:MAX_CHECKED_TEXT",
            "characters",
        ),
        ("a note in the console", "console.drafts.notes:MAX_NOTE", "characters"),
        ("guest links of a draft", "console.drafts.guest_links:MOST_OF_DRAFT", _PLAIN),
        ("hours for which a preview link is valid", "publisher.previews.routes:_LONGEST_HOURS", _PLAIN),
    ),
    "Sites": (
        ("a logo", "publisher.logos.routes:MAX_BYTES", _BYTES),
        ("pixels of a logo", "publisher.logos.logo_file:MAX_PIXELS", _PLAIN),
        ("tags of a site", "publisher.site_settings.routes:MOST_TAGS", _PLAIN),
        ("entries of the menu", "publisher.site_settings.routes:MOST_ENTRIES", _PLAIN),
        ("characters of a search on a site", "publisher.http_api:_MAX_WANTED", _PLAIN),
        ("days of clicks in one request", "publisher.short_links.routes:_MOST_DAYS", _PLAIN),
        ("articles whose clicks one request asks for", "publisher.short_links.routes:_MOST", _PLAIN),
        ("results of a search on a site", "publisher.http_api:_MOST_FOUND", _PLAIN),
        ("pages of a site that is exported as files", "publisher.site_export.files:MOST_PAGES", _PLAIN),
    ),
    "Posts and the calendar": (
        ("text of a post", "social.review.models:MAX_TEXT", "characters"),
        ("posts that one request decides about", "social.review.routes:MAX_DECISIONS", _PLAIN),
        ("posts of an account that one request reorders", "social.calendar.store:MOST_QUEUED", _PLAIN),
        ("lines of weekly times of an account", "social.calendar.models:MOST_LINES", _PLAIN),
        ("accounts of a brand with slots", "social.calendar.slot_routes:MOST_ACCOUNTS", _PLAIN),
        ("entries of a day in an answer of the calendar", "social.calendar.routes:MOST_A_DAY", _PLAIN),
        ("hashtags of a post that a rule may set", "social.sending.rule_routes:_MOST_TAGS", _PLAIN),
        ("articles whose reactions one request asks for", "social.post_metrics.routes:_MOST", _PLAIN),
        ("days that one request to the calendar covers", "social.calendar.routes:MOST_DAYS", _PLAIN),
    ),
    "Events, webhooks and notifications": (
        ("webhooks of a brand", "events.webhooks.routes:MOST_WEBHOOKS", _PLAIN),
        ("attempts to deliver an event to a webhook", "events.webhooks.domain:MOST_TRIES", _PLAIN),
        ("incoming webhooks of a brand", "events.incoming_hooks.routes:MOST_HOOKS", _PLAIN),
        ("a request to an incoming webhook", "events.incoming_hooks.receiving:MAX_BYTES", _BYTES),
        ("fields and entries of such a request", "events.incoming_hooks.receiving:MAX_VALUES", _PLAIN),
        (
            "fields and entries that a hook makes of it",
            "events.incoming_hooks.definition:MOST_VALUES",
            _PLAIN,
        ),
        ("levels of nesting in that", "events.incoming_hooks.definition:MOST_DEPTH", _PLAIN),
        (
            "a constant in the definition of a hook",
            "events.incoming_hooks.definition:MOST_CHARACTERS",
            "characters",
        ),
        ("deliveries that are sent again in one request", "events.webhooks.models:_MOST_PLACES", _PLAIN),
        (
            "leases that one request acknowledges, retries or revives",
            "events.subscriptions.routes:_MOST_LEASES",
            _PLAIN,
        ),
        ("lease of a subscription's batch, in seconds", "events.subscriptions.routes:LONGEST_LEASE", _PLAIN),
        ("routes of notifications", "monitor.notifications.routes:MOST_ROUTES", _PLAIN),
        ("dead letters that one request decides about", "monitor.dead_letters.api_models:MAX_BULK", _PLAIN),
        ("alerts, rules and silences in an answer", "monitor.alerts.routes:MOST_SHOWN", _PLAIN),
        ("days of dead letters in one request", "monitor.dead_letters.day_routes:MOST_DAYS", _PLAIN),
        ("hours of figures in one request", "messaging.figure_routes:MOST_HOURS", _PLAIN),
        ("messages whose outcome one request asks for", "messaging.ledger_routes:MOST_ASKED", _PLAIN),
        ("rows of a part of a brand in one request", "messaging.part_routes:MOST_ROWS", _PLAIN),
        ("a message on the broker", "envelope.message:MAX_MESSAGE_BYTES", _BYTES),
    ),
    "The console": (
        ("shortest password", "console.people.domain:SHORTEST_PASSWORD", "characters"),
        ("longest password", "console.people.domain:LONGEST_PASSWORD", "characters"),
        ("passkeys of a person", "console.passkeys.store:MOST_PASSKEYS", _PLAIN),
        ("items of one mass action", "console.mass_actions.acting:MOST_AT_ONCE", _PLAIN),
        ("rows of a list that is saved as a file", "console.list_files.writing:MOST_ROWS", _PLAIN),
        ("saved views of a list", "console.saved_views.store:MOST", _PLAIN),
        (
            "an uploaded archive of a brand (`brandctl brands import` takes larger ones)",
            "console.brand_archives.store:MAX_BYTES",
            _BYTES,
        ),
        ("uploaded archives at the same time", "console.brand_archives.store:MOST_HELD", _PLAIN),
        ("keywords that an assistant submits in one call", "assistants.keywords:_MOST_KEYWORDS", _PLAIN),
        ("a request of an assistant", "console.assistants.endpoint:MAX_BODY_BYTES", _BYTES),
        ("requests of assistants at the same time", "console.assistants.endpoint:MOST_AT_ONCE", _PLAIN),
    ),
    "The gateway": (
        ("key of a provider", "gateway.credentials.routes:_LONGEST", "characters"),
        ("a cap on spending, in dollars", "gateway.calls.routes:_MOST", _PLAIN),
        (
            "a request to an account, such as a post with a picture",
            "gateway.accounts.routes:MAX_REQUEST_BYTES",
            _BYTES,
        ),
        ("a request to a model", "gateway.model.routes:MAX_BODY_BYTES", _BYTES),
        ("redirects of a page", "gateway.egress.client:MAX_REDIRECTS", _PLAIN),
        ("an address", "gateway.egress.urls:MAX_LENGTH", "characters"),
        ("results of a search", "gateway.providers.search_results:MAX_COUNT", _PLAIN),
        ("query of a search", "gateway.providers.search_results:MAX_CHARACTERS", "characters"),
    ),
}


def limits_page(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the page."""
    return "\n".join([_INTRODUCTION, *_sections(), _larger_bodies(documents)])


def _sections() -> Iterator[str]:
    for title, limits in LIMITS.items():
        rows = [(what, shown(value_of(place), unit)) for what, place, unit in limits]
        yield f"## {title}\n\n{table(('what', 'limit'), rows)}"


def value_of(place: str) -> Any:
    """Returns the value of `module:NAME` or `module:NAME[key]`."""
    module, _, name = place.partition(":")
    name, _, key = name.rstrip("]").partition("[")
    value = getattr(importlib.import_module(module), name)
    return value[key] if key else value


def shown(value: Any, unit: str) -> str:
    """Returns a value with its unit, as people read it."""
    if isinstance(value, timedelta):
        return f"{value.days} days" if value.days else f"{value.seconds:,} seconds"
    if unit != _BYTES:
        return f"{value:,} {unit}".rstrip()
    return next(f"{value // size:,} {name}" for size, name in _SIZES if value % size == 0)


def _larger_bodies(documents: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (service, f"`{verb.upper()} {path}`", larger_body(operation))
        for service in DEPLOYED
        for path, operations in documents[service]["paths"].items()
        for verb, operation in operations.items()
        if larger_body(operation)
    ]
    return f"## Larger bodies\n\nThese operations take bodies of more than 64 kB.\n\n{table(('service', 'operation', 'at most'), rows)}"
