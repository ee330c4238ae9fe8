"""Handles `post.send`: determines a post's account and text, or sends it."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from envelope import DomainMessage, Message
from envelope.brand.payloads import LinkRegister, PostSend, SocialFailed, SocialPosted
from messaging import Context, Database, Record, RetryLater, Transaction, Unprocessable, WaitFor
from receipts import (
    Effect,
    EffectInDoubt,
    EffectPerformed,
    EffectRefused,
    EffectsGateway,
    GatewayAway,
    NotSentYet,
    Receipt,
    Receipts,
    Step,
)
from social.channels import CHANNELS, mark_uncertain
from social.domain import PostRefusal, is_web_address
from social.sending import domain, store
from social.sending.domain import ChannelPost, ChannelPostState, ChannelText, SendingAccount
from social.sending.due import DuePosts, send_next
from social.sending.pictures import PublishedPictures
from social.sending.standing import SendingGate, SendingHold
from social.sending.store import report_sent
from social.urls import FeedUrls

log = structlog.get_logger(__name__)

MAX_DETAIL: Final = 2000
_NO_CODE: Final = re.compile(r"[^a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class SendRetryPolicy:
    """Number of attempts for a post, and the pauses after failed ones."""

    pauses: Sequence[timedelta]
    most_attempts: int
    """Limit for any message of the queue."""

    def after(self, attempt: int) -> timedelta | None:
        """The pause after an attempt; None after the last."""
        if attempt >= self.most_attempts or attempt > len(self.pauses):
            return None
        return self.pauses[attempt - 1]


@dataclass(frozen=True, slots=True)
class _OutgoingPost:
    """A post with its steps for the channel; `seconds`: most time for all steps."""

    effect: Effect
    steps: Sequence[Step]
    seconds: float


class PostSender:
    """Determines the account and the text of new posts, and sends due ones."""

    def __init__(
        self,
        database: Database,
        door: EffectsGateway,
        urls: FeedUrls,
        *,
        standing: SendingGate,
        pictures: PublishedPictures,
        due: DuePosts,
        patience: SendRetryPolicy,
    ) -> None:
        self._database = database
        self._door = door
        self._urls = urls
        self.receipts = Receipts(database, door, self.settled)
        self._standing = standing
        self._pictures = pictures
        self._due = due
        self._patience = patience

    async def post_send(self, message: DomainMessage[PostSend], context: Context) -> Record | None:
        async with self._database.connection() as connection:
            post = await store.find(connection, message.payload.post_id)
        match post:
            case ChannelPost(state=ChannelPostState.NEW):
                return await self._settle(message, post)
            case ChannelPost(state=ChannelPostState.SENDING):
                return await self._send(message, context, post)
            case ChannelPost(state=ChannelPostState.FAILED) if (
                post.ended_by != message.event_id and post.account
            ):
                # Its dead letter, replayed.
                return await self._send(message, context, post)
        return None  # erased, called off, out, or a person has to look at it first

    # -- which account, and what is said there ----------------------------------------------------------------------------

    async def _settle(self, message: DomainMessage[PostSend], post: ChannelPost) -> Record:
        try:
            connected = await self._door.accounts(post.brand_slug)
        except GatewayAway as error:
            raise WaitFor("gateway", error.detail) from error
        accounts = [SendingAccount(each.name, each.kind, each.state, each.label) for each in connected]
        account = domain.account_for(post.entry, accounts)
        if isinstance(account, PostRefusal):
            return _refused(message, post, account)
        async with self._database.connection() as connection:
            rules = await store.rules_of(connection, post.brand_slug, account.kind)
        addressed = replace(post, material=post.material.leading_by(domain.mark_of(post.post_id)))
        text = domain.said(CHANNELS[account.kind], addressed.material, rules)
        if isinstance(text, PostRefusal):
            return _refused(message, post, text)
        return self._settled(message, addressed, account, text)

    def _settled(
        self, message: DomainMessage[PostSend], post: ChannelPost, account: SendingAccount, text: ChannelText
    ) -> Record:
        async def record(tx: Transaction) -> None:
            standing = await store.lock(tx.connection, post.post_id)
            if standing is None or standing.state is not ChannelPostState.NEW:
                return
            if not await store.settle(tx.connection, post.post_id, account, text, post.material):
                other = f"another channel of the brand means the account {account.name}, too; name it once"
                await _refuse(tx, message, post, PostRefusal("same_account", other))
                return
            _register_link(tx, message, post, account)
            if post.approval == domain.EVERYTHING:
                await store.wait(tx.connection, post.post_id)
            else:
                settled = await store.find(tx.connection, post.post_id)
                assert settled is not None
                if (refusal := await self._due.plan(tx.connection, settled)) is not None:
                    await _refuse(tx, message, post, refusal)
                    return
            after = await store.find(tx.connection, post.post_id)
            assert after is not None
            now: datetime = await tx.connection.fetchval("select clock_timestamp()")
            if (why := domain.told(after, now)) is not None:
                tell(tx, after, failed(after, why), caused_by=message)

        return record

    # -- sending ----------------------------------------------------------------------------------------------------------

    async def _send(self, message: DomainMessage[PostSend], context: Context, post: ChannelPost) -> Record:
        try:
            held = await self._standing.of(post.brand_slug, post.content_id)
            if held is not None:
                return _held(message, post, held)
            result = await self._perform(post)
        except NotSentYet as error:
            return await self._unfinished(message, context, post, _plain(post, error.reason, error.detail))
        except WaitFor as error:
            return _waiting(message, post, error)
        except EffectRefused as error:
            why = _plain(post, error.reason, error.detail)
            return _parked(message, post, domain.but_out(why, _address(error.remote.get("url"))))
        if isinstance(result, EffectInDoubt):
            return _ended(
                message, post, ChannelPostState.IN_DOUBT, PostRefusal(domain.IN_DOUBT, result.detail)
            )
        return self._posted(message, post, _address(result.remote.get("url")))

    async def _outgoing(self, post: ChannelPost) -> _OutgoingPost:
        """The effect and steps of a post; raises EffectRefused if this version does not know the channel."""
        assert post.channel is not None
        way = domain.way_out(post.channel)
        if way is None:
            raise EffectRefused("unknown_channel", f"this version sends nothing to {post.channel}", {})
        assert post.account is not None
        async with self._database.connection() as connection:
            begun_at = await store.begin(connection, post.post_id)
        wanted = domain.composed(post)
        if not CHANNELS[post.channel].network.needs_picture and not self._pictures.can_be_read:
            wanted = replace(wanted, pictures=())
        prepared = way.prepare(wanted, begun_at)
        if post.may_be_out_since is not None:
            prepared = mark_uncertain(prepared)
        effect = Effect(
            receipt_id=post.post_id,
            kind=post.channel,
            account=post.account,
            brand_slug=post.brand_slug,
            subject=f"post on {post.account} about “{post.material.story.title}”",
            prepared=prepared,
            may_be_there=post.may_be_out_since is not None,
        )
        return _OutgoingPost(effect, way.steps(prepared, self._pictures), way.seconds)

    async def _perform(self, post: ChannelPost) -> EffectPerformed | EffectInDoubt:
        """Performs the effect; raises as `Receipts.perform`."""
        outgoing = await self._outgoing(post)
        try:
            async with asyncio.timeout(outgoing.seconds):
                return await self.receipts.perform(outgoing.effect, outgoing.steps)
        except TimeoutError as error:
            late = f"it took more than {outgoing.seconds:g} s, which is all the time that {post.channel} is given"
            raise NotSentYet("no_answer", late) from error

    async def _unfinished(
        self, message: DomainMessage[PostSend], context: Context, post: ChannelPost, why: PostRefusal
    ) -> Record:
        """Schedules the next attempt. After the last, the post has failed, or is in doubt if a part may be out."""
        if self._patience.after(context.attempt) is None:
            outgoing = await self._outgoing(post)
            doubt = await self.receipts.give_up(outgoing.effect, outgoing.steps)
            if doubt is not None:
                return _ended(
                    message, post, ChannelPostState.IN_DOUBT, PostRefusal(domain.IN_DOUBT, doubt.detail)
                )
        return self._again(message, context, post, why)

    def _again(
        self, message: DomainMessage[PostSend], context: Context, post: ChannelPost, why: PostRefusal
    ) -> Record:
        pause = self._patience.after(context.attempt)
        if pause is None:
            return _parked(message, post, why)

        async def record(tx: Transaction) -> None:
            await store.retry(tx.connection, post.post_id, pause, why)
            tx.fail(message, RetryLater(f"{post.asked_as}: {why.detail}", after=pause))

        return record

    def _posted(self, message: DomainMessage[PostSend], post: ChannelPost, url: str | None) -> Record:
        async def record(tx: Transaction) -> None:
            await store.end(tx.connection, post.post_id, ChannelPostState.POSTED, url=url)
            tell(tx, post, posted(self._urls, post, url), caused_by=message)
            await report_sent(tx, post, message)
            log.info("post_is_out", **_named(post), url=url)

        return record

    # -- what a person decides about a receipt in doubt -------------------------------------------------------------------

    async def settled(self, receipt: Receipt, remote: Mapping[str, Any] | None, tx: Transaction) -> None:
        """Applies a person's decision about a post in doubt: it is out, or social sends it again."""
        post = await store.lock(tx.connection, receipt.receipt_id)
        if post is None:
            return
        if remote is None:
            await store.retry(tx.connection, post.post_id, timedelta(), PostRefusal("", ""))
            send_next(tx, post)
            return
        url = _address(remote.get("url"))
        await store.end(tx.connection, post.post_id, ChannelPostState.POSTED, url=url)
        tell(tx, post, posted(self._urls, post, url))
        log.info("post_is_out", **_named(post), url=url, confirmed=True)
        await report_sent(tx, post)


# -- what becomes of it, written down with what is told of it --------------------------------------------------------------


def _named(post: ChannelPost) -> dict[str, str | None]:
    """Fields of a post for the log."""
    return {
        "brand": post.brand_slug,
        "content_id": str(post.content_id),
        "asked_as": post.asked_as,
        "channel": post.channel,
        "account": post.account,
        "post_id": str(post.post_id),
        # A person's confirmation is no message of the chain.
        "correlation_id": post.correlation_id,
    }


def _ended(
    message: DomainMessage[PostSend], post: ChannelPost, state: ChannelPostState, why: PostRefusal
) -> Record:
    async def record(tx: Transaction) -> None:
        await store.end(tx.connection, post.post_id, state, why=_fit(why), ended_by=message.event_id)
        tell(tx, post, failed(post, why), caused_by=message)
        log.warning(
            "post_is_not_out",
            **_named(post),
            state=state.value,
            reason=why.reason,
        )

    return record


def _parked(message: DomainMessage[PostSend], post: ChannelPost, why: PostRefusal) -> Record:
    """The post has failed, and its dead letter informs operators; other posts of the article continue."""
    ended = _ended(message, post, ChannelPostState.FAILED, why)

    async def record(tx: Transaction) -> None:
        await ended(tx)
        tx.fail(
            message,
            Unprocessable(f"{post.asked_as}: {why.detail}; then: brandctl posts retry {post.post_id}"),
        )

    return record


def _register_link(
    tx: Transaction, message: DomainMessage[PostSend], post: ChannelPost, account: SendingAccount
) -> None:
    """Reports the short link to the publisher. Until then, clicks lead to the article but count for no post."""
    if post.material.article_link is None:
        return
    wanted = LinkRegister(
        brand_slug=post.brand_slug,
        content_id=post.content_id,
        post_id=post.post_id,
        channel=account.kind,
        account=account.name,
        mark=domain.mark_of(post.post_id),
    )
    tx.send(wanted, caused_by=message, correlation_id=post.correlation_id)


def _refused(message: DomainMessage[PostSend], post: ChannelPost, why: PostRefusal) -> Record:
    async def record(tx: Transaction) -> None:
        standing = await store.lock(tx.connection, post.post_id)
        if standing is not None and standing.state is ChannelPostState.NEW:
            await _refuse(tx, message, post, why)

    return record


async def _refuse(
    tx: Transaction, message: DomainMessage[PostSend], post: ChannelPost, why: PostRefusal
) -> None:
    """Ends the post as refused, which is not an error of the system."""
    await store.end(
        tx.connection, post.post_id, ChannelPostState.FAILED, why=_fit(why), ended_by=message.event_id
    )
    tell(tx, post, failed(post, why), caused_by=message)
    log.info("post_is_not_out", **_named(post), state=ChannelPostState.FAILED.value, reason=why.reason)


def _held(message: DomainMessage[PostSend], post: ChannelPost, held: SendingHold) -> Record:
    if held.pause is None:
        return _ended(message, post, ChannelPostState.CALLED_OFF, held.why)
    pause = held.pause

    async def record(tx: Transaction) -> None:
        await store.hold(tx.connection, post.post_id, pause, held.why)

    return record


def _waiting(message: DomainMessage[PostSend], post: ChannelPost, error: WaitFor) -> Record:
    async def record(tx: Transaction) -> None:
        why = PostRefusal(code(error.dependency), str(error))
        await store.retry(tx.connection, post.post_id, error.after or timedelta(), _fit(why))
        tx.fail(message, error)

    return record


def tell(
    tx: Transaction,
    post: ChannelPost,
    event: SocialPosted | SocialFailed,
    *,
    caused_by: Message | None = None,
) -> None:
    """Publishes the outcome of a post; none for repetitions, since the first post answered the command."""
    if post.occurrence == 0:
        tx.send(event, caused_by=caused_by, correlation_id=post.correlation_id)


def posted(urls: FeedUrls, post: ChannelPost, url: str | None) -> SocialPosted:
    """The post's address; for a private post that of its article, or else of the brand's feed."""
    return SocialPosted(
        brand_slug=post.brand_slug,
        content_id=post.content_id,
        platform=post.asked_as,
        post_url=url or post.material.article or urls.absolute(urls.feed(post.brand_slug)),
    )


def failed(post: ChannelPost, why: PostRefusal) -> SocialFailed:
    fit = _fit(why)
    return SocialFailed(
        brand_slug=post.brand_slug,
        content_id=post.content_id,
        platform=post.asked_as,
        reason=fit.reason,
        detail=fit.detail,
    )


def _plain(post: ChannelPost, reason: str, detail: str) -> PostRefusal:
    """The refusal in the channel's plain words, if it has some for this reason."""
    assert post.channel is not None
    channel = CHANNELS.get(post.channel)
    plain = channel.network.errors.get(reason) if channel else None
    return _fit(PostRefusal(reason, f"{plain} ({detail})" if plain else detail))


def _fit(why: PostRefusal) -> PostRefusal:
    return PostRefusal(code(why.reason), why.detail[:MAX_DETAIL])


def code(reason: str) -> str:
    """The reason as events spell it: `limit.reached` becomes `limit_reached`."""
    return _NO_CODE.sub("_", reason.lower()).strip("_0123456789")[:100] or "failed"


def _address(value: object) -> str | None:
    """The address of a post from another server's answer, if it is a web address."""
    return value if isinstance(value, str) and is_web_address(value) else None
