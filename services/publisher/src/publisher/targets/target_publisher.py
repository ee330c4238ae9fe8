"""Publishes an article's current version to a target: creates, updates, withdraws or keeps it.

One command at a time claims a publication. Its effects have receipts, so a command that comes again continues where the
first attempt stopped, on any replica; see `docs/receipts.md`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid5

from envelope import DomainMessage
from envelope.brand.payloads import ContentPublish, ContentPublished, ContentPublishFailed
from messaging import Context, Database, Record, RetryLater, Transaction, Unprocessable, WaitFor
from publisher import store
from publisher.domain import Article, BrandSlug, PublishRefusal, publish_refusal, wanted_slug
from publisher.erasure import is_late
from publisher.orchestrator_client import OrchestratorClient, Unchanged
from publisher.short_links import ShortLinks
from publisher.targets import publications
from publisher.targets.accounts import ACCOUNTS
from publisher.targets.edition import CoverPicture, Edition, edition_of
from publisher.targets.files import FiledArticle, FilesError, FilesTarget
from publisher.targets.filing import folders
from publisher.targets.publications import Publication, PublicationOutcome
from publisher.targets.resolution import FILES, ResolvedTarget, resolve_target
from receipts import (
    Effect,
    EffectInDoubt,
    EffectPerformed,
    EffectRefused,
    EffectsGateway,
    Receipt,
    Receipts,
    Step,
)

Command: TypeAlias = DomainMessage[ContentPublish]
PictureOf: TypeAlias = Callable[[Article], Awaitable[CoverPicture]]

LEASE: Final = timedelta(minutes=4)
"""Longer than a handler's time limit."""
_AGAIN: Final = timedelta(seconds=10)


class PublishRefusedError(Exception):
    """The target refuses the article; the message says why, and what to do."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class PublishJob:
    """The work of one command on one publication."""

    command: Command
    context: Context
    resolved: ResolvedTarget
    publication: Publication

    @property
    def claim_id(self) -> UUID:
        return self.command.event_id

    @property
    def is_home(self) -> bool:
        return self.command.payload.canonical_url is None


class TargetPublisher:
    def __init__(
        self,
        database: Database,
        orchestrator: OrchestratorClient,
        door: EffectsGateway,
        receipts: Receipts,
        files: FilesTarget,
        picture_of: PictureOf,
        links: ShortLinks | None = None,
    ) -> None:
        """`links` creates the short links of articles with their home at another target; None: they have none."""
        self._database = database
        self._orchestrator = orchestrator
        self._door = door
        self._receipts = receipts
        self._files = files
        self._picture_of = picture_of
        self._links = links

    async def publish(self, command: Command, context: Context) -> Record:
        payload = command.payload
        resolved = await resolve_target(self._database, self._door, payload.brand_slug, payload.target)
        if isinstance(resolved, PublishRefusal):
            return report_failure(command, await self._refusal_or_doubt(command, resolved), context)
        answer = await self._orchestrator.article(payload.content_id)
        assert not isinstance(answer, Unchanged)
        article = None if answer is None else answer.article
        if article is not None and article.brand.slug != payload.brand_slug:
            raise Unprocessable(
                f"content {payload.content_id} belongs to brand {article.brand.slug!r}, the command says"
                f" {payload.brand_slug!r}; nothing was published"
            )
        goes = article is None or article.taken_down_at is not None
        if article is not None and not goes and (problem := publish_refusal(article)):
            return report_failure(command, problem, context)
        job = await self._claim(command, context, resolved)
        try:
            if goes:
                return await self._withdraw(job, article)
            assert article is not None
            return await self._write(job, article)
        except PublishRefusedError as problem:
            return self._record_failure(job, problem)

    async def _refusal_or_doubt(self, command: Command, problem: PublishRefusal) -> PublishRefusal:
        """The refusal, or "in doubt" if an earlier request to the missing account may have succeeded."""
        payload = command.payload
        about = {"content_id": str(payload.content_id), "target": payload.target}
        detail = f"its request got no answer, and its account is gone: {problem.detail}"
        if not await self._receipts.give_up_all(payload.brand_slug, about, detail):
            return problem
        return PublishRefusal(
            "in_doubt", f"{detail}. Look there, then: brandctl receipts list --state in_doubt"
        )

    # -- writing ---------------------------------------------------------------------------------------------------------

    async def _write(self, job: PublishJob, article: Article) -> Record:
        payload, publication = job.command.payload, job.publication
        picture = await self._picture_of(article)
        # In a thread, so that a long or hostile text delays only this message.
        edition = await asyncio.to_thread(
            edition_of,
            article.model_copy(update={"slug": wanted_slug(article)}),
            job.resolved.settings,
            canonical_url=payload.canonical_url,
            picture=picture,
            stamp=str(job.claim_id) if payload.overwrite else "",
        )
        settings = job.resolved.settings
        if job.resolved.kind == FILES and job.is_home and settings.address is None:
            raise PublishRefusedError(
                "no_address", "set the address of its articles in the target's settings"
            )
        if (
            publication.state == "published"
            and publication.digest == edition.digest
            and not payload.overwrite
        ):
            outcome = self._unchanged_outcome(publication, edition)
            url = settings.address_of(publication.slug or edition.slug)
            return self._record_success(job, article, replace(outcome, url=url))
        if job.resolved.kind == FILES:
            await self._check_folder(job)
        async with self._database.transaction() as tx:
            if not await publications.record_attempt(tx.connection, publication, job.claim_id, edition.mark):
                raise WaitFor("publication", "another command has claimed it", after=_AGAIN)
        tried = replace(publication, tried=publication.tried | {edition.mark})
        if job.resolved.kind == FILES:
            outcome = await self._publish_files(replace(job, publication=tried), edition)
        else:
            outcome = await self._publish_to_account(replace(job, publication=tried), edition)
        # If two articles share a slug, the second has another in its path.
        address = settings.address_of(outcome.slug or edition.slug)
        url = outcome.url or address or publication.url or payload.canonical_url
        if url is None:
            raise PublishRefusedError(
                "no_address",
                "the receiver has it, and did not answer its address: set the address in the target's settings",
            )
        return self._record_success(job, article, replace(outcome, url=url))

    def _unchanged_outcome(self, publication: Publication, edition: Edition) -> PublicationOutcome:
        return PublicationOutcome(
            "published",
            is_public=True,
            digest=publication.digest,
            cover=publication.cover,
            as_of=edition.as_of,
        )

    async def _publish_to_account(self, job: PublishJob, edition: Edition) -> PublicationOutcome:
        """Publishes through an account: creates the article there once, then updates it."""
        target, publication = ACCOUNTS[job.resolved.kind], job.publication
        overwrite = job.command.payload.overwrite
        try:
            publication = await self._ensure_created(job, edition)
            remote_state = publication.remote_state(overwrite=overwrite)
            name = f"write {publication.round} {edition.mark}"
            remote = await self._perform_steps(
                job, name, edition.title, target.update_steps(edition, remote_state)
            )
        except PublishRefusedError as problem:
            if problem.reason != "gone_elsewhere" or not overwrite:
                raise
            async with self._database.transaction() as tx:
                await publications.reset(tx.connection, publication)
            raise RetryLater("it is created again", after=timedelta(seconds=1)) from problem
        return PublicationOutcome(
            "published",
            is_public=True,
            remote_id=remote_state.remote_id,
            url=remote.get("url"),
            slug=edition.slug,
            digest=edition.digest,
            seen=remote.get("seen"),
            as_of=edition.as_of,
        )

    async def _ensure_created(self, job: PublishJob, edition: Edition) -> Publication:
        publication = job.publication
        if publication.remote_id is not None:
            return publication
        made: Mapping[str, Any] = {"id": str(publication.content_id)}
        if steps := ACCOUNTS[job.resolved.kind].creation_steps(edition):
            made = await self._perform_steps(job, f"make {publication.made}", edition.title, steps)
        if "id" not in made:
            raise PublishRefusedError("in_doubt", "the confirmation did not name its id at the target")
        return await self._store_remote_id(
            job, str(made["id"]), made.get("seen"), is_public=bool(made.get("is_public"))
        )

    async def _store_remote_id(
        self, job: PublishJob, remote_id: str, seen: str | None, *, is_public: bool
    ) -> Publication:
        async with self._database.transaction() as tx:
            if not await publications.record_creation(
                tx.connection,
                job.publication,
                job.claim_id,
                remote_id=remote_id,
                seen=seen,
                is_public=is_public,
            ):
                raise WaitFor("publication", "another command has claimed it", after=_AGAIN)
        return replace(job.publication, remote_id=remote_id, seen=seen, is_public=is_public)

    async def _check_folder(self, job: PublishJob) -> None:
        """Raises TurnedDownError: the target's folder is another brand's."""
        brand = job.command.payload.brand_slug
        folder = job.resolved.settings.folder or brand
        async with self._database.transaction() as tx:
            is_own = await folders.take(tx.connection, brand, folder)
        if not is_own:
            raise PublishRefusedError(
                "folder_taken",
                f"the folder '{folder}' belongs to another brand, or overlaps a folder of one; an administrator gives the target another:"
                f" brandctl targets set {brand} {job.command.payload.target} --folder FOLDER",
            )

    async def _publish_files(self, job: PublishJob, edition: Edition) -> PublicationOutcome:
        publication = job.publication
        cover = await edition.picture.draw() if edition.picture else None
        before = _filed_article(publication)
        settings, since = job.resolved.settings, publication.created_at
        try:
            path = await asyncio.to_thread(self._files.choose_path, edition, settings, before, since=since)
            if before is None:
                await self._store_remote_id(job, path, None, is_public=False)
            filed = await asyncio.to_thread(
                self._files.write,
                edition,
                settings,
                before,
                path=path,
                since=since,
                tried=publication.tried,
                cover=cover,
                overwrite=job.command.payload.overwrite,
            )
        except FilesError as problem:
            raise PublishRefusedError(problem.reason, problem.detail) from problem
        except OSError as problem:
            raise RetryLater(f"the files could not be written: {problem}") from problem
        return PublicationOutcome(
            "published",
            is_public=True,
            remote_id=filed.path,
            slug=filed.slug,
            cover=filed.cover,
            digest=edition.digest,
            seen=filed.seen,
            as_of=edition.as_of,
        )

    # -- withdrawing -----------------------------------------------------------------------------------------------------

    async def _withdraw(self, job: PublishJob, article: Article | None) -> Record:
        publication = job.publication
        if publication.remote_id is None:
            return self._record_never_published(job, article)
        if publication.state != "unpublished":
            if job.resolved.kind == FILES:
                await self._check_folder(job)
                await self._remove_files(job)
            else:
                overwrite = job.command.payload.overwrite
                steps = ACCOUNTS[job.resolved.kind].withdrawal_steps(
                    publication.remote_state(overwrite=overwrite)
                )
                await self._perform_steps(job, f"withdraw {publication.round}", publication.slug or "", steps)
        outcome = PublicationOutcome(
            "unpublished", is_public=False, as_of=article.updated_at if article else None
        )

        async def record(tx: Transaction) -> None:
            await self._settle(tx, job, outcome)
            job.context.log.info(
                "article_withdrawn", content_id=str(publication.content_id), target=publication.target
            )

        return record

    async def _remove_files(self, job: PublishJob) -> None:
        publication = job.publication
        before = _filed_article(publication)
        if before is None:
            return
        try:
            await asyncio.to_thread(
                self._files.remove,
                publication.content_id,
                publication.brand_slug,
                job.resolved.settings,
                before,
                tried=publication.tried,
                overwrite=job.command.payload.overwrite,
            )
        except FilesError as problem:
            if problem.reason != "gone_elsewhere":
                raise PublishRefusedError(problem.reason, problem.detail) from problem
        except OSError as problem:
            raise RetryLater(f"the files could not be removed: {problem}") from problem

    def _record_never_published(self, job: PublishJob, article: Article | None) -> Record:
        """Records that the article never was at the target; only for its home does it send a failure."""
        code, what = ("deleted", "deleted") if article is None else ("taken_down", "taken down")
        problem = PublishRefusal(code, f"The article was {what} before it was published there.")

        async def record(tx: Transaction) -> None:
            await self._settle(tx, job, PublicationOutcome("unpublished", is_public=False))
            if job.is_home:
                await report_failure(job.command, problem, job.context)(tx)

        return record

    # -- shared ----------------------------------------------------------------------------------------------------------

    async def _claim(self, command: Command, context: Context, resolved: ResolvedTarget) -> PublishJob:
        payload = command.payload
        async with self._database.transaction() as tx:
            publication = await publications.claim(
                tx.connection,
                payload.content_id,
                payload.target,
                brand_slug=payload.brand_slug,
                kind=resolved.kind,
                account=resolved.account,
                by=command.event_id,
                lease=LEASE,
            )
        if publication is None:
            raise WaitFor("publication", "another command publishes it there at the moment", after=_AGAIN)
        return PublishJob(command, context, resolved, publication)

    async def _perform_steps(
        self, job: PublishJob, name: str, title: str, steps: Sequence[Step]
    ) -> Mapping[str, Any]:
        payload, resolved = job.command.payload, job.resolved
        effect = Effect(
            receipt_id=uuid5(payload.content_id, f"{payload.target} {name}"),
            kind=resolved.kind,
            account=resolved.account,
            brand_slug=payload.brand_slug,
            subject=f"article on {payload.target} ({name.split(maxsplit=1)[0]}): “{title}”",
            prepared={
                "content_id": str(payload.content_id),
                "target": payload.target,
                "canonical_url": payload.canonical_url,
                "title": title,
            },
        )
        try:
            done = await self._receipts.perform(effect, steps)
        except EffectRefused as problem:
            raise PublishRefusedError(problem.reason, problem.detail) from problem
        match done:
            case EffectPerformed(remote):
                return remote
            case EffectInDoubt(detail):
                raise PublishRefusedError(
                    "in_doubt", f"{detail}. Look there, then: brandctl receipts show {effect.receipt_id}"
                )

    def _record_success(self, job: PublishJob, article: Article, outcome: PublicationOutcome) -> Record:
        payload = job.command.payload

        async def record(tx: Transaction) -> None:
            if await is_late(tx.connection, job.command):
                return
            if await store.find_deleted(tx.connection, [article.content_id]):
                raise RetryLater("the article was deleted while it was published; it is withdrawn again")
            await self._settle(tx, job, outcome)
            url = outcome.url or job.publication.url or payload.canonical_url
            assert url is not None
            published = ContentPublished(
                brand_slug=payload.brand_slug,
                content_id=payload.content_id,
                published_url=url,
                as_of=outcome.as_of,
                target=payload.target,
                short_link=await self._short_link(tx, job, article),
            )
            tx.send(published, caused_by=job.command)
            job.context.log.info(
                "article_published", content_id=str(payload.content_id), target=payload.target, url=url
            )

        return record

    async def _short_link(self, tx: Transaction, job: PublishJob, article: Article) -> str | None:
        if self._links is None or not job.is_home:
            return None
        payload = job.command.payload
        brand = BrandSlug(payload.brand_slug)
        return await self._links.url_of(
            tx.connection, brand, payload.content_id, payload.target, title=article.title
        )

    def _record_failure(self, job: PublishJob, problem: PublishRefusedError) -> Record:
        publication = job.publication
        outcome = PublicationOutcome(
            "failed",
            is_public=publication.is_public,
            cover=publication.cover,
            reason=problem.reason,
            detail=problem.detail,
        )

        async def record(tx: Transaction) -> None:
            if await is_late(tx.connection, job.command):
                return
            await self._settle(tx, job, outcome)
            await report_failure(job.command, PublishRefusal(problem.reason, problem.detail), job.context)(tx)

        return record

    async def _settle(self, tx: Transaction, job: PublishJob, outcome: PublicationOutcome) -> None:
        if not await publications.settle(tx.connection, job.publication, job.claim_id, outcome):
            raise WaitFor("publication", "another command has claimed it", after=_AGAIN)


async def republish(receipt: Receipt, remote: Mapping[str, Any] | None, tx: Transaction) -> None:
    """Publishes an article again after a person decided its effect in doubt."""
    del remote
    about = receipt.prepared
    tx.send(
        ContentPublish(
            brand_slug=receipt.brand_slug,
            content_id=UUID(about["content_id"]),
            target=about["target"],
            canonical_url=about.get("canonical_url"),
        )
    )


def report_failure(command: Command, problem: PublishRefusal, context: Context) -> Record:
    payload = command.payload

    async def record(tx: Transaction) -> None:
        tx.send(
            ContentPublishFailed(
                brand_slug=payload.brand_slug,
                content_id=payload.content_id,
                target=payload.target,
                reason=problem.reason,
                detail=problem.detail[:2000],
            ),
            caused_by=command,
        )
        context.log.warning(
            "article_not_published",
            content_id=str(payload.content_id),
            target=payload.target,
            reason=problem.reason,
            detail=problem.detail,
        )

    return record


def _filed_article(publication: Publication) -> FiledArticle | None:
    if publication.remote_id is None:
        return None
    # A withdrawn file may be missing.
    seen = publication.seen if publication.is_public else None
    return FiledArticle(publication.remote_id, publication.cover, seen)
