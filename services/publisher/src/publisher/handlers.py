"""Handles `content.publish`: publishes the article, then sends `content.published`, or `content.publish_failed` with the reason."""

from envelope import DomainMessage
from envelope.brand.payloads import ContentDelete, ContentPublish
from messaging import Context, Database, GroupedRecord, Record, Transaction
from publisher import store
from publisher.domain import BrandSlug, PublishRefusal
from publisher.erasure import is_late
from publisher.orchestrator_client import OrchestratorClient
from publisher.targets import SITE, BuiltInSite, SiteJob, TargetPublisher, report_failure
from publisher.urls import SiteUrls

Command = DomainMessage[ContentPublish]


class Handlers:
    def __init__(
        self,
        database: Database,
        orchestrator: OrchestratorClient,
        urls: SiteUrls,
        elsewhere: TargetPublisher | None = None,
    ) -> None:
        """`elsewhere` publishes to targets other than the built-in site; None: there are none."""
        self._database = database
        self._site = BuiltInSite(database, orchestrator, urls)
        self._elsewhere = elsewhere

    async def content_publish(self, command: Command, context: Context) -> Record | GroupedRecord[SiteJob]:
        target = command.payload.target
        if target == SITE:
            return await self._site.publish(command, context)
        async with self._database.connection() as connection:
            if await is_late(connection, command):
                return _record_nothing
        if self._elsewhere is None:
            return report_failure(
                command, PublishRefusal("unknown_target", f"There is no target {target!r}."), context
            )
        return await self._elsewhere.publish(command, context)

    async def content_delete(self, command: DomainMessage[ContentDelete], context: Context) -> Record:
        """Deletes the article's page. Sends no answer: the orchestrator has deleted the article already."""
        payload = command.payload

        async def record(tx: Transaction) -> None:
            if await is_late(tx.connection, command):
                return
            had_page = await store.delete(tx.connection, payload.content_id, BrandSlug(payload.brand_slug))
            context.log.info("article_deleted", content_id=str(payload.content_id), had_page=had_page)

        return record


async def _record_nothing(_: Transaction) -> None:
    """Stores nothing: the brand was erased, so no answer is due."""
