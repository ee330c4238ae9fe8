"""`content.publish` in; an article at a target and `content.published`, or `content.publish_failed` with the reason, out."""

from envelope import DomainMessage
from envelope.brand.payloads import ContentDelete, ContentPublish
from messaging import Context, Database, GroupedRecord, Record, Transaction
from publisher import store
from publisher.clients.orchestrator import OrchestratorClient
from publisher.domain import BrandSlug, Refusal
from publisher.erasure import is_late
from publisher.targets import SITE, Bringing, Brought, BuiltInSite, failed
from publisher.urls import SiteUrls

Command = DomainMessage[ContentPublish]


class Handlers:
    def __init__(
        self,
        database: Database,
        orchestrator: OrchestratorClient,
        urls: SiteUrls,
        elsewhere: Bringing | None = None,
    ) -> None:
        """`elsewhere`: how articles get to other targets than the built-in site; None: there are no others."""
        self._database = database
        self._site = BuiltInSite(database, orchestrator, urls)
        self._elsewhere = elsewhere

    async def content_publish(self, command: Command, context: Context) -> Record | GroupedRecord[Brought]:
        target = command.payload.target
        if target == SITE:
            return await self._site.bring(command, context)
        async with self._database.connection() as connection:
            if await is_late(connection, command):
                return _nothing
        if self._elsewhere is None:
            return failed(command, Refusal("unknown_target", f"There is no target {target!r}."), context)
        return await self._elsewhere.bring(command, context)

    async def content_delete(self, command: DomainMessage[ContentDelete], context: Context) -> Record:
        """Nobody waits to hear of it: the orchestrator has deleted the article before it asks."""
        payload = command.payload

        async def record(tx: Transaction) -> None:
            if await is_late(tx.connection, command):
                return
            had_page = await store.delete(tx.connection, payload.content_id, BrandSlug(payload.brand_slug))
            context.log.info("article_deleted", content_id=str(payload.content_id), had_page=had_page)

        return record


async def _nothing(_: Transaction) -> None:
    """Nobody waits for an answer about a brand that was erased."""
