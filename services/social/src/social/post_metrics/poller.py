"""Polls platforms for the metrics of posts: daily for two weeks after each. Every replica runs it; row locks divide the work."""

import asyncio
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from messaging import Database
from receipts import EffectsGateway, GatewayAway, NotSent, Refused, UnknownOutcome, remotes
from social.channels import CHANNELS, PostMetrics
from social.domain import PostRefusal
from social.post_metrics import store
from social.post_metrics.store import MetricsLookup

log = structlog.get_logger(__name__)

AT_ONCE: Final = 20
"""Posts in one round."""
MOST_FAILURES: Final = 6
"""Consecutive failures until a post is given up, a day and a quarter after the first."""
_FIRST_PAUSE: Final = timedelta(hours=1)
_LONGEST_PAUSE: Final = timedelta(days=1)
_AWAY: Final = timedelta(minutes=5)
_LEAST: Final = timedelta(minutes=1)
_MOST_DETAIL: Final = 500


class PostMetricsPoller:
    """Requests due metrics, the oldest first, a bounded number at a time.

    Requests only read, and an answer replaces that of the same day, so that repeated requests do no harm.
    """

    def __init__(self, database: Database, door: EffectsGateway, *, at_once: int = AT_ONCE) -> None:
        self._database = database
        self._door = door
        self._at_once = at_once

    async def tick(self) -> int:
        """Requests due metrics; returns the number of answers."""
        async with self._database.transaction() as tx:
            await store.follow_rules(tx.connection)
            looks = await store.claim_due(tx.connection, at_once=self._at_once)
            known = await remotes(tx.connection, [each.post_id for each in looks])
        of_account: dict[tuple[str, str], list[MetricsLookup]] = defaultdict(list)
        for each in looks:
            of_account[each.brand_slug, each.account].append(each)
        heard = await asyncio.gather(
            *(
                self._of_account([(each, known.get(each.post_id, {}).get("id")) for each in its])
                for its in of_account.values()
            )
        )
        return sum(heard)

    async def _of_account(self, looks: list[tuple[MetricsLookup, object]]) -> int:
        """Requests the metrics of an account's posts one by one; after a request without an answer, the others wait."""
        heard = 0
        for place, (look, remote_id) in enumerate(looks):
            try:
                reach = await self._ask(look, remote_id)
            except (NotSent, UnknownOutcome) as error:
                await self._put_off(look, [each for each, _ in looks[place + 1 :]], error)
                return heard
            except Refused as error:
                if await self._refused(look, error):
                    return heard
            else:
                heard += 1
                async with self._database.transaction() as tx:
                    await store.store_metrics(tx.connection, look.post_id, reach)
        return heard

    async def _ask(self, look: MetricsLookup, remote_id: object) -> PostMetrics:
        """Raises the errors of `social.channels.channel.FetchPostMetrics`."""
        channel = CHANNELS.get(look.channel)
        if channel is None or channel.sending is None or channel.sending.reach is None:
            raise Refused("not_told", f"this version requests no metrics from {look.channel}")
        if not remote_id:
            raise Refused(
                "gone", "its id on the platform is unknown, since a person confirmed its address only"
            )
        reach = await channel.sending.reach(self._door.account(look.account, look.brand_slug), str(remote_id))
        if reach == PostMetrics(None, None, None):
            raise UnknownOutcome("the answer says nothing about likes, shares or replies")
        return reach

    async def _put_off(
        self, look: MetricsLookup, others: list[MetricsLookup], error: NotSent | UnknownOutcome
    ) -> None:
        """Postpones the requests. Rate limits and the gateway's outages do not count as failures of a post."""
        counts = not isinstance(error, GatewayAway)
        pause = _AWAY if not counts else _after(look.failures)
        if isinstance(error, NotSent) and error.retry_at is not None:
            counts = False
            pause = min(max(error.retry_at - datetime.now(UTC), _LEAST), _LONGEST_PAUSE)
        reason = error.reason if isinstance(error, NotSent) else "no_answer"
        why = _said(reason, error.detail)
        async with self._database.transaction() as tx:
            await store.postpone(tx.connection, [each.post_id for each in others], pause, why)
        await self._again(look, pause, why, counts=counts)

    async def _refused(self, look: MetricsLookup, error: Refused) -> bool:
        """Stores a refusal; returns whether it affects the account's other posts, too."""
        why = _said(error.reason, error.detail)
        match error.reason:
            case "gone":
                async with self._database.transaction() as tx:
                    await store.give_up(tx.connection, look.post_id, why)
                return False
            case "not_told":
                async with self._database.transaction() as tx:
                    rest = await store.pause_account(tx.connection, look, why)
                log.info("reach_is_not_told", account=look.account, posts=rest, detail=why.detail)
                return True
            case _:
                # The account may work again once it is reconnected.
                await self._again(look, _after(look.failures), why, counts=True)
                return False

    async def _again(self, look: MetricsLookup, pause: timedelta, why: PostRefusal, *, counts: bool) -> None:
        async with self._database.transaction() as tx:
            if counts and look.failures + 1 >= MOST_FAILURES:
                await store.give_up(tx.connection, look.post_id, why)
                log.info("reach_is_given_up", post_id=str(look.post_id), reason=why.reason)
                return
            await store.postpone(tx.connection, [look.post_id], pause, why, counts=counts)


def _said(reason: str, detail: str) -> PostRefusal:
    """A reason without characters that the database does not accept; platforms may send any."""
    return PostRefusal(reason, "".join(each for each in detail if each.isprintable())[:_MOST_DETAIL])


def _after(failures: int) -> timedelta:
    return min(_FIRST_PAUSE * (1 << failures), _LONGEST_PAUSE)
