"""`python -m faults.workers.outside`: sends posts and articles through the real gateway with the real adapters and receipts, to be killed and stopped.

`post.send` names the channel, or the kind of site, and the post; the text follows from them. Where a file in `HOLDS` names a place of the post's way, the
process stands still there until it is killed, stopped or let go.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

import uvloop
from pydantic import SecretStr
from starlette.applications import Starlette

from chassis import KeyedSettings
from chassis.observing import logs
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import PostSend
from messaging import Context, QueuePolicy, RetryLater, Service, ServiceSettings, Unprocessable, on_each
from publisher.targets.edition import Edition
from publisher.targets.places import ACCOUNTS
from publisher.targets.target import Standing
from receipts import Account, Door, Effect, InDoubt, NotSent, Receipts, Refused, Step, UnknownOutcome, Work
from social.channels import CHANNELS, Composed, Picture

STEP_SECONDS: Final = 2.0
"""Instead of 15; and what is sent shows up at once at the fakes."""
SETTLES_SECONDS: Final = 0.5
MARGIN_SECONDS: Final = 0.5
ARMED, ANSWERED = "armed", "answered"
_LOOK_SECONDS: Final = 0.02
_AT: Final = datetime(2027, 3, 1, 9, tzinfo=UTC)
_PICTURE: Final = Picture(
    url="https://example.org/covers/pour-over.png",
    alt="A cup, seen from above",
    media_type="image/png",
    width=1200,
    height=630,
    jpeg_url="https://example.org/covers/pour-over.jpg",
)


class Settings(ServiceSettings, KeyedSettings):
    gateway_url: str
    holds: Path
    mutation: str = ""


class Cover:
    """What the publisher would hand out."""

    async def read(self, url: str) -> bytes:
        return b"\x89PNG\r\n\x1a\n" + url.encode()


def composed(channel: str, post_id: UUID) -> Composed:
    """The post of that name: the same each time."""
    link = f"https://example.org/sites/acme/{post_id.hex[:12]}"
    placements = CHANNELS[channel].sending
    assert placements is not None
    in_text = placements.placements[0] == "in_text"
    text = f"Pour-over coffee, {post_id.hex[:12]}"
    return Composed(
        post_id=post_id,
        brand_slug="acme",
        content_id=post_id,
        title="Pour-over coffee",
        description="Water just off the boil.",
        text=f"{text}\n\n{link}" if in_text else text,
        link=link,
        placement=placements.placements[0],
        pictures=(_PICTURE,),
    )


def article(content_id: UUID) -> Edition:
    """The article of that name: the same each time."""
    text = f"Pour-over coffee, {content_id.hex[:12]}"
    return Edition(
        content_id=content_id,
        brand_slug="acme",
        site="Acme",
        language="en",
        slug=f"pour-over-coffee-{content_id.hex[:12]}",
        title=text,
        excerpt="Water just off the boil.",
        html=f"<p>{text}</p>",
        markdown=text,
        word_count=3,
        sources=(),
        canonical_url=f"https://example.org/sites/acme/{content_id.hex[:12]}",
        as_of=_AT,
        categories=(),
        tags=(),
        author=None,
        picture=None,
    )


@dataclass(frozen=True)
class Phase:
    """What has a receipt of its own: the whole of a post; of an article first its being there, and then its being seen."""

    receipt_id: UUID
    prepared: Mapping[str, Any]
    steps: Callable[[Mapping[str, Any]], Sequence[Step]]
    """From what the phase before has returned."""


def phases(place: str, post_id: UUID) -> list[Phase]:
    if place in ACCOUNTS and place not in CHANNELS:
        target, edition = ACCOUNTS[place], article(post_id)

        def bring(made: Mapping[str, Any]) -> Sequence[Step]:
            standing = Standing(
                post_id, str(made.get("id", 1)), seen=made.get("seen"), tried=frozenset({edition.mark})
            )
            return target.bring(edition, standing)

        return [
            Phase(uuid5(post_id, "make"), {}, lambda _: target.place(edition)),
            Phase(post_id, {}, bring),
        ]
    sending = CHANNELS[place].sending
    assert sending is not None
    prepared = sending.prepare(composed(place, post_id), _AT)
    return [Phase(post_id, prepared, lambda _: sending.steps(prepared, Cover()))]


def steps_of(place: str) -> int:
    """How many requests with an effect a post or an article of this program takes there."""
    return sum(len(phase.steps({})) for phase in phases(place, UUID(int=1)))


class Handlers:
    def __init__(self, receipts: Receipts, door: Door, settings: Settings) -> None:
        self._receipts = receipts
        self._door = door
        self._settings = settings

    async def post_send(self, message: DomainMessage[PostSend], _: Context) -> None:
        place, post_id = message.payload.channel, message.payload.post_id
        remote: Mapping[str, Any] = {}
        number = 0
        for phase in phases(place, post_id):
            effect = Effect(phase.receipt_id, place, place, "acme", f"post on {place}", phase.prepared)
            steps = []
            for step in phase.steps(remote):
                send = self._held(post_id, number, step)
                steps.append(replace(step, send=send, seconds=STEP_SECONDS, settles_seconds=SETTLES_SECONDS))
                number += 1
            if self._settings.mutation == "receipts":
                remote = await self._without_receipts(effect, steps)
                continue
            result = await self._receipts.perform(effect, steps)
            if isinstance(result, InDoubt):
                return
            remote = result.remote

    def _held(self, post_id: UUID, number: int, step: Step) -> Callable[[Work], Awaitable[Mapping[str, Any]]]:
        async def send(work: Work) -> Mapping[str, Any]:
            try:
                await self._hold(post_id, f"{number} {ARMED}")
                remote = await step.send(work)
                await self._hold(post_id, f"{number} {ANSWERED}")
                return remote
            finally:
                if (order := self._settings.holds / str(post_id)).with_suffix(".reached").exists():
                    order.with_suffix(".passed").touch()

        return send

    async def _hold(self, post_id: UUID, place: str) -> None:
        order = self._settings.holds / str(post_id)
        if not order.exists() or order.read_text() != place:
            return
        order.rename(order.with_suffix(".reached"))
        while not order.with_suffix(".free").exists():  # noqa: ASYNC110  (another process makes it)
            await asyncio.sleep(_LOOK_SECONDS)
        order.with_suffix(".going").touch()

    async def _without_receipts(self, effect: Effect, steps: Sequence[Step]) -> Mapping[str, Any]:
        """As everybody does it: send, and if no good answer comes, send again."""
        remote: dict[str, Any] = {}
        for step in steps:
            work = Work(effect, self._door.account(effect.account, effect.brand_slug), remote)
            try:
                async with asyncio.timeout(STEP_SECONDS):
                    remote |= await step.send(work)
            except (NotSent, UnknownOutcome, TimeoutError) as error:
                raise RetryLater(str(error)) from error
            except Refused as error:
                raise Unprocessable(str(error)) from error
        return remote


def _mutate(name: str) -> None:
    """Takes fences away: what comes late is not known from what comes in time, neither here nor at the gateway."""
    if name != "fencing":
        return

    async def opened(*_: Any, **__: Any) -> None:
        """Nothing is closed."""

    async def patient(_: Receipts, __: Step, work: Awaitable[Any]) -> Any:
        with nullcontext():
            return await work

    Account.fenced = lambda self, fence: self  # type: ignore[method-assign]  # noqa: ARG005
    Door.close = opened  # type: ignore[method-assign]
    Receipts._within = patient  # type: ignore[assignment,method-assign]


def build(settings: Settings) -> Service:
    service = Service("social", settings, CATALOGUE)
    door = Door(settings.gateway_url, SecretStr(settings.service_key.get_secret_value()))
    receipts = Receipts(service.database, door, margin_seconds=MARGIN_SECONDS)
    policy = QueuePolicy(
        max_concurrency=32, handler_timeout=60.0, backoff_limit=2.0, wait_base=0.1, wait_limit=1.0
    )
    handlers = Handlers(receipts, door, settings)
    service.consume("social-commands", on_each(handlers.post_send, PostSend), policy=policy)
    service.serve(Starlette())
    return service


async def _run() -> None:
    settings = Settings()
    logs.configure("outside", settings.log_level, settings.log_format)
    _mutate(settings.mutation)
    await build(settings).run()


if __name__ == "__main__":
    uvloop.run(_run())
