"""`python -m faults.workers.outside`: sends posts and articles through the real gateway with the real adapters and receipts, to be killed and stopped.

`post.send` names the channel and the post, `content.publish` the article; their texts follow from that. Each request says which one it is (`address`), so
that the other side can fail it; and where a file in `HOLDS` names a moment of a step, the process stands still there until it is killed,
stopped or let go.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import uvloop
from pydantic import SecretStr
from starlette.applications import Starlette

from chassis import KeyedSettings
from chassis.observing import logs
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublish, PostSend
from messaging import (
    Context,
    Database,
    QueuePolicy,
    RetryLater,
    Service,
    ServiceSettings,
    Unprocessable,
    on_each,
)
from publisher.domain import Article, BrandDocument
from publisher.orchestrator_client import Fetched, OrchestratorClient, Unchanged
from publisher.targets import FilesTarget, TargetPublisher
from publisher.targets.edition import CoverPicture, Edition
from publisher.targets.files import FiledArticle
from publisher.targets.settings import TargetSettings
from receipts import (
    AccountClient,
    Effect,
    EffectAbsent,
    EffectFound,
    EffectInDoubt,
    EffectPerformed,
    EffectsGateway,
    EffectUnclear,
    NotSent,
    Receipts,
    Refused,
    Step,
    StepInHand,
    UnknownOutcome,
)
from social.channels import CHANNELS, ComposedPost
from social.channels import PostPicture as PictureOfPost

SETTLES_SECONDS: Final = 4.0
"""What is sent shows up at once at the fakes, but for what they do late."""
FIRST_LOOK_SECONDS: Final = 0.5
MARGIN_SECONDS: Final = 0.5
BEFORE, WITHIN, DONE, ANSWERED = "before", "within", "done", "answered"
"""Where it may stand still: before a step is sent, and after its answer; where files are written, also before the commit, and after it."""
FILES: Final = "commit"
"""The one step of files."""
SEND, LOOK = "send", "look"
_POLL_SECONDS: Final = 0.05
_THREADS: Final = 64
_HEADER: Final = "prefer"
"""One that a service may send to anybody."""
_UPDATED: Final = datetime(2027, 3, 1, 9, tzinfo=UTC)
_PICTURE: Final = PictureOfPost(
    url="https://example.org/covers/pour-over.png",
    alt="A cup, seen from above",
    media_type="image/png",
    width=1200,
    height=630,
    jpeg_url="https://example.org/covers/pour-over.jpg",
)


class EffectWorkerSettings(ServiceSettings, KeyedSettings):
    gateway_url: str
    holds: Path
    publish_folder: Path
    step_seconds: float
    at_once: int
    mutation: str = ""


# -- what goes out -----------------------------------------------------------------------------------------------------


def mark_of(post_id: UUID) -> str:
    """The text that identifies a post everywhere."""
    return post_id.hex[:12]


def address(post_id: UUID, doing: str, number: int, step: str) -> str:
    """Of one request: the so-and-so-many-th of sending a step, or of looking it up."""
    return f"{post_id}/{doing}/{number}/{step}"


def account_of(place: str, brand_slug: str) -> str:
    """The brand's own account, so that no list of posts gets full."""
    return f"{place}-{brand_slug}"


class CoverStub:
    """Replaces the publisher's covers."""

    async def read(self, url: str) -> bytes:
        return b"\x89PNG\r\n\x1a\n" + url.encode()

    async def check(self, url: str) -> None:
        """It is there."""


def composed(channel: str, post_id: UUID, brand_slug: str) -> ComposedPost:
    """The post of that name: the same each time; with a first comment where the channel has such."""
    link = f"https://example.org/sites/acme/{mark_of(post_id)}"
    placements = CHANNELS[channel].network.placements
    placement = "first_comment" if "first_comment" in placements else placements[0]
    text = f"Pour-over coffee, {mark_of(post_id)}"
    return ComposedPost(
        post_id=post_id,
        brand_slug=brand_slug,
        content_id=post_id,
        title="Pour-over coffee",
        description="Water just off the boil.",
        text=f"{text}\n\n{link}" if placement == "in_text" else text,
        link=link,
        placement=placement,
        pictures=(_PICTURE,),
    )


class ArticlesStub(OrchestratorClient):
    """Replaces the orchestrator: an article for each name, always the same."""

    def __init__(self, brand_of: Callable[[UUID], str]) -> None:
        self._brand_of = brand_of

    async def article(self, content_id: UUID, *, known_etag: str | None = None) -> Fetched | Unchanged | None:
        del known_etag
        title, mark = f"Pour-over coffee, {mark_of(content_id)}", mark_of(content_id)
        article = Article(
            content_id=content_id,
            brand=BrandDocument(slug=self._brand_of(content_id), name="Acme"),
            keyword="pour-over",
            slug=f"pour-over-coffee-{mark}",
            title=title,
            meta_description="Water just off the boil.",
            body_markdown=f"## {title}\n\nWater just off the boil.\n",
            word_count=5,
            key_points=(),
            label=None,
            sources=(),
            updated_at=_UPDATED,
        )
        return Fetched(article, None)


async def picture_of(article: Article) -> CoverPicture:
    name = f"cover-{mark_of(article.content_id)}"

    async def draw() -> bytes:
        return b"\x89PNG\r\n\x1a\n" + name.encode()

    return CoverPicture(name=name, alternative_text="A cup, seen from above", url=None, draw=draw)


# -- where it stands still ---------------------------------------------------------------------------------------------


class HoldFiles:
    """Files named after posts: `<post>` says where; `.reached`, `.going` and `.passed` how far it is there; `.free` lets it go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def at(self, post_id: UUID, moment: str, step: str) -> None:
        if self._reached(post_id, moment, step):
            while not self._is_free(post_id):  # noqa: ASYNC110  (another process says so)
                await asyncio.sleep(_POLL_SECONDS)
            self._file(post_id, ".going").touch()

    def at_in_thread(self, post_id: UUID, moment: str, step: str) -> None:
        if self._reached(post_id, moment, step):
            while not self._is_free(post_id):
                time.sleep(_POLL_SECONDS)
            self._file(post_id, ".going").touch()

    def passed(self, post_id: UUID) -> None:
        """Records that the step has ended, well or not."""
        if self._file(post_id, ".reached").exists():
            self._file(post_id, ".passed").touch()

    def _reached(self, post_id: UUID, moment: str, step: str) -> bool:
        order = self._file(post_id)
        if not order.exists() or order.read_text() != f"{moment} {step}":
            return False
        order.rename(self._file(post_id, ".reached"))
        return True

    def _is_free(self, post_id: UUID) -> bool:
        return self._file(post_id, ".free").exists()

    def _file(self, post_id: UUID, ending: str = "") -> Path:
        return self._folder / f"{post_id}{ending}"


class HeldReceipts(Receipts):
    """The real receipts with short times; steps can stop, and requests carry their address."""

    def __init__(self, database: Database, door: EffectsGateway, settings: EffectWorkerSettings) -> None:
        super().__init__(database, door, margin_seconds=MARGIN_SECONDS)
        self._door = door
        self._holds = HoldFiles(settings.holds)
        self._settings = settings

    async def perform(self, effect: Effect, steps: Sequence[Step]) -> EffectPerformed | EffectInDoubt:
        # An article's effects have names of their own.
        post_id = UUID(effect.prepared["content_id"]) if "target" in effect.prepared else effect.receipt_id
        held = [self._held(post_id, step) for step in steps]
        if self._settings.mutation == "receipts":
            return EffectPerformed(await self._without_receipts(effect, held))
        return await super().perform(effect, held)

    def _held(self, post_id: UUID, step: Step) -> Step:
        async def send(work: StepInHand) -> Mapping[str, Any]:
            try:
                await self._holds.at(post_id, BEFORE, step.name)
                remote = await step.send(_named(work, post_id, SEND, step.name))
                await self._holds.at(post_id, ANSWERED, step.name)
                return remote
            finally:
                self._holds.passed(post_id)

        async def look(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
            assert step.detect is not None
            return await step.detect(_named(work, post_id, LOOK, step.name))

        return replace(
            step,
            send=send,
            detect=look if step.detect else None,
            seconds=self._settings.step_seconds,
            settles_seconds=SETTLES_SECONDS,
            first_look_seconds=FIRST_LOOK_SECONDS,
        )

    async def _without_receipts(self, effect: Effect, steps: Sequence[Step]) -> Mapping[str, Any]:
        """Sends without receipts, and sends again if no good answer comes."""
        remote: dict[str, Any] = {}
        for step in steps:
            work = StepInHand(effect, self._door.account(effect.account, effect.brand_slug), remote)
            try:
                async with asyncio.timeout(self._settings.step_seconds):
                    remote |= await step.send(work)
            except (NotSent, UnknownOutcome, TimeoutError) as error:
                raise RetryLater(str(error)) from error
            except Refused as error:
                raise Unprocessable(str(error)) from error
        return remote


def _named(work: StepInHand, post_id: UUID, doing: str, step: str) -> StepInHand:
    ask, numbers = work.account.ask, count()

    async def named(name: str, asked: Mapping[str, Any], seconds: float) -> Any:
        told = address(post_id, doing, next(numbers), step)
        return await ask(name, {**asked, "headers": {**asked.get("headers", {}), _HEADER: told}}, seconds)

    return replace(work, account=replace(work.account, ask=named))


class HeldFiles(FilesTarget):
    """The publisher's files; they can stop before the write, before and after the commit, and at the end."""

    def __init__(self, root: Path, holds: HoldFiles) -> None:
        super().__init__(root)
        self._holds = holds

    def write(
        self, edition: Edition, settings: TargetSettings, before: FiledArticle | None, **how: Any
    ) -> FiledArticle:
        content_id = edition.content_id
        try:
            self._holds.at_in_thread(content_id, BEFORE, FILES)
            # Once for the files, once for the commit of the same.
            super().write(edition, settings.model_copy(update={"git": False}), before, **how)
            self._holds.at_in_thread(content_id, WITHIN, FILES)
            filed = super().write(edition, settings, before, **how)
            self._holds.at_in_thread(content_id, DONE, FILES)
            return filed
        finally:
            self._holds.passed(content_id)


# -- the program -------------------------------------------------------------------------------------------------------


class EffectHandlers:
    def __init__(
        self, receipts: Receipts, target_publisher: TargetPublisher, brands: dict[UUID, str]
    ) -> None:
        self._receipts = receipts
        self._target_publisher = target_publisher
        self._brands = brands

    async def post_send(self, message: DomainMessage[PostSend], _: Context) -> None:
        channel, post_id, brand = (
            message.payload.channel,
            message.payload.post_id,
            message.payload.brand_slug,
        )
        sending = CHANNELS[channel].sending
        assert sending is not None
        prepared = sending.prepare(composed(channel, post_id, brand), datetime.now(UTC))
        account = account_of(channel, brand)
        effect = Effect(post_id, channel, account, brand, f"post on {channel}", prepared)
        await self._receipts.perform(effect, sending.steps(prepared, CoverStub()))

    async def content_publish(self, message: DomainMessage[ContentPublish], context: Context) -> Any:
        self._brands[message.payload.content_id] = message.payload.brand_slug
        return await self._target_publisher.publish(message, context)


def _mutate(name: str) -> None:
    """Removes fences: neither this process nor the gateway can tell late requests from timely ones."""
    if name != "fencing":
        return

    async def opened(*_: Any, **__: Any) -> None:
        """Nothing is closed."""

    async def patient(_: Receipts, __: Step, work: Awaitable[Any]) -> Any:
        with nullcontext():
            return await work

    AccountClient.fenced = lambda self, fence: self  # type: ignore[method-assign]  # noqa: ARG005
    EffectsGateway.close = opened  # type: ignore[method-assign]
    Receipts._limit_time = patient  # type: ignore[assignment,method-assign]


def build(settings: EffectWorkerSettings) -> Service:
    service = Service("publisher", settings, CATALOGUE)
    door = EffectsGateway(settings.gateway_url, SecretStr(settings.service_key.get_secret_value()))
    receipts = HeldReceipts(service.database, door, settings)
    brands: dict[UUID, str] = {}
    files = HeldFiles(settings.publish_folder, HoldFiles(settings.holds))
    articles = ArticlesStub(brands.__getitem__)
    target_publisher = TargetPublisher(service.database, articles, door, receipts, files, picture_of)
    handlers = EffectHandlers(receipts, target_publisher, brands)
    policy = QueuePolicy(
        max_concurrency=settings.at_once,
        handler_timeout=60.0,
        backoff_limit=2.0,
        wait_base=0.1,
        wait_limit=1.0,
    )
    service.consume("social-commands", on_each(handlers.post_send, PostSend), policy=policy)
    service.consume("publisher-commands", on_each(handlers.content_publish, ContentPublish), policy=policy)
    service.serve(Starlette())
    return service


async def _run() -> None:
    settings = EffectWorkerSettings()
    logs.configure("outside", settings.log_level, settings.log_format)
    _mutate(settings.mutation)
    # Files stand still in threads.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    await build(settings).run()


if __name__ == "__main__":
    uvloop.run(_run())
