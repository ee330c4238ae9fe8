"""Bringing a target up to date with an article, whatever that says by then: written, written anew, taken away, or left as it is.

One command has a publication at a time. What it sends has a receipt, so that a command which comes again, on whichever replica, goes
on where the one before was; see `docs/receipts.md`.
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
from publisher.clients.orchestrator import OrchestratorClient, Unchanged
from publisher.domain import Article, BrandSlug, Refusal, refusal, wanted_slug
from publisher.erasure import is_late
from publisher.links import ShortLinks
from publisher.targets import publications
from publisher.targets.edition import Edition, Picture, edition_of
from publisher.targets.files import Filed, Files, FilesError
from publisher.targets.filing import folders
from publisher.targets.places import ACCOUNTS, FILES, Place, find_place
from publisher.targets.publications import Outcome, Publication
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
PictureOf: TypeAlias = Callable[[Article], Awaitable[Picture]]

LEASE: Final = timedelta(minutes=4)
"""Longer than a handler may take."""
_AGAIN: Final = timedelta(seconds=10)


class TurnedDownError(Exception):
    """The target does not take it; the message says why, and what to do."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Errand:
    """One command's, about one publication."""

    command: Command
    context: Context
    place: Place
    publication: Publication

    @property
    def by(self) -> UUID:
        return self.command.event_id

    @property
    def is_home(self) -> bool:
        return self.command.payload.canonical_url is None


class Bringing:
    def __init__(
        self,
        database: Database,
        orchestrator: OrchestratorClient,
        door: EffectsGateway,
        receipts: Receipts,
        files: Files,
        picture_of: PictureOf,
        links: ShortLinks | None = None,
    ) -> None:
        """`links`: makes the short links of articles that have their home elsewhere; without, they have none."""
        self._database = database
        self._orchestrator = orchestrator
        self._door = door
        self._receipts = receipts
        self._files = files
        self._picture_of = picture_of
        self._links = links

    async def bring(self, command: Command, context: Context) -> Record:
        payload = command.payload
        place = await find_place(self._database, self._door, payload.brand_slug, payload.target)
        if isinstance(place, Refusal):
            return failed(command, await self._doubtful(command, place), context)
        answer = await self._orchestrator.article(payload.content_id)
        assert not isinstance(answer, Unchanged)
        article = None if answer is None else answer.article
        if article is not None and article.brand.slug != payload.brand_slug:
            raise Unprocessable(
                f"content {payload.content_id} belongs to brand {article.brand.slug!r}, the command says"
                f" {payload.brand_slug!r}; nothing was published"
            )
        goes = article is None or article.taken_down_at is not None
        if article is not None and not goes and (problem := refusal(article)):
            return failed(command, problem, context)
        errand = await self._claimed(command, context, place)
        try:
            if goes:
                return await self._withdraw(errand, article)
            assert article is not None
            return await self._write(errand, article)
        except TurnedDownError as problem:
            return self._not_done(errand, problem)

    async def _doubtful(self, command: Command, problem: Refusal) -> Refusal:
        """Why it fails where its account is gone: what was sent there and not answered may be there all the same."""
        payload = command.payload
        about = {"content_id": str(payload.content_id), "target": payload.target}
        detail = f"it was not answered, and its account is gone: {problem.detail}"
        if not await self._receipts.give_up_all(payload.brand_slug, about, detail):
            return problem
        return Refusal("in_doubt", f"{detail}. Look there, then: brandctl receipts list --state in_doubt")

    # -- writing ---------------------------------------------------------------------------------------------------------

    async def _write(self, errand: Errand, article: Article) -> Record:
        payload, publication = errand.command.payload, errand.publication
        picture = await self._picture_of(article)
        # In a thread, so that a long or hostile text holds up this message only.
        edition = await asyncio.to_thread(
            edition_of,
            article.model_copy(update={"slug": wanted_slug(article)}),
            errand.place.settings,
            canonical_url=payload.canonical_url,
            picture=picture,
            stamp=str(errand.by) if payload.overwrite else "",
        )
        settings = errand.place.settings
        if errand.place.kind == FILES and errand.is_home and settings.address is None:
            raise TurnedDownError(
                "no_address", "say in the target's settings at which address readers find its articles"
            )
        if (
            publication.state == "published"
            and publication.digest == edition.digest
            and not payload.overwrite
        ):
            outcome = self._as_it_is(publication, edition)
            url = settings.address_of(publication.slug or edition.slug)
            return self._done(errand, article, replace(outcome, url=url))
        if errand.place.kind == FILES:
            await self._demand_folder(errand)
        async with self._database.transaction() as tx:
            if not await publications.note_tried(tx.connection, publication, errand.by, edition.mark):
                raise WaitFor("publication", "another command has taken it over", after=_AGAIN)
        tried = replace(publication, tried=publication.tried | {edition.mark})
        if errand.place.kind == FILES:
            outcome = await self._file(replace(errand, publication=tried), edition)
        else:
            outcome = await self._perform(replace(errand, publication=tried), edition)
        # Of two articles with one slug, the second has another in its path.
        address = settings.address_of(outcome.slug or edition.slug)
        url = outcome.url or address or publication.url or payload.canonical_url
        if url is None:
            raise TurnedDownError(
                "no_address",
                "it was sent, and the receiver did not answer where readers find it: say that in the target's settings",
            )
        return self._done(errand, article, replace(outcome, url=url))

    def _as_it_is(self, publication: Publication, edition: Edition) -> Outcome:
        return Outcome(
            "published",
            is_public=True,
            digest=publication.digest,
            cover=publication.cover,
            as_of=edition.as_of,
        )

    async def _perform(self, errand: Errand, edition: Edition) -> Outcome:
        """Through an account: made there once, then written."""
        target, publication = ACCOUNTS[errand.place.kind], errand.publication
        overwrite = errand.command.payload.overwrite
        try:
            publication = await self._made(errand, edition)
            standing = publication.standing(overwrite=overwrite)
            name = f"write {publication.round} {edition.mark}"
            remote = await self._once(errand, name, edition.title, target.bring(edition, standing))
        except TurnedDownError as problem:
            if problem.reason != "gone_elsewhere" or not overwrite:
                raise
            async with self._database.transaction() as tx:
                await publications.make_anew(tx.connection, publication)
            raise RetryLater("it is made anew", after=timedelta(seconds=1)) from problem
        return Outcome(
            "published",
            is_public=True,
            remote_id=standing.remote_id,
            url=remote.get("url"),
            slug=edition.slug,
            digest=edition.digest,
            seen=remote.get("seen"),
            as_of=edition.as_of,
        )

    async def _made(self, errand: Errand, edition: Edition) -> Publication:
        publication = errand.publication
        if publication.remote_id is not None:
            return publication
        made: Mapping[str, Any] = {"id": str(publication.content_id)}
        if steps := ACCOUNTS[errand.place.kind].place(edition):
            made = await self._once(errand, f"make {publication.made}", edition.title, steps)
        if "id" not in made:
            raise TurnedDownError("in_doubt", "whoever confirmed it did not say under which id it is there")
        return await self._noted(
            errand, str(made["id"]), made.get("seen"), is_public=bool(made.get("is_public"))
        )

    async def _noted(
        self, errand: Errand, remote_id: str, seen: str | None, *, is_public: bool
    ) -> Publication:
        async with self._database.transaction() as tx:
            if not await publications.note_made(
                tx.connection,
                errand.publication,
                errand.by,
                remote_id=remote_id,
                seen=seen,
                is_public=is_public,
            ):
                raise WaitFor("publication", "another command has taken it over", after=_AGAIN)
        return replace(errand.publication, remote_id=remote_id, seen=seen, is_public=is_public)

    async def _demand_folder(self, errand: Errand) -> None:
        """Raises TurnedDownError: the target's folder is another brand's."""
        brand = errand.command.payload.brand_slug
        folder = errand.place.settings.folder or brand
        async with self._database.transaction() as tx:
            is_own = await folders.take(tx.connection, brand, folder)
        if not is_own:
            raise TurnedDownError(
                "folder_taken",
                f"the folder '{folder}' belongs to another brand, or overlaps a folder of one; an administrator gives the target another:"
                f" brandctl targets set {brand} {errand.command.payload.target} --folder FOLDER",
            )

    async def _file(self, errand: Errand, edition: Edition) -> Outcome:
        publication = errand.publication
        cover = await edition.picture.draw() if edition.picture else None
        before = _filed(publication)
        settings, since = errand.place.settings, publication.created_at
        try:
            path = await asyncio.to_thread(self._files.place, edition, settings, before, since=since)
            if before is None:
                await self._noted(errand, path, None, is_public=False)
            filed = await asyncio.to_thread(
                self._files.write,
                edition,
                settings,
                before,
                path=path,
                since=since,
                tried=publication.tried,
                cover=cover,
                overwrite=errand.command.payload.overwrite,
            )
        except FilesError as problem:
            raise TurnedDownError(problem.reason, problem.detail) from problem
        except OSError as problem:
            raise RetryLater(f"the files could not be written: {problem}") from problem
        return Outcome(
            "published",
            is_public=True,
            remote_id=filed.path,
            slug=filed.slug,
            cover=filed.cover,
            digest=edition.digest,
            seen=filed.seen,
            as_of=edition.as_of,
        )

    # -- taking away -----------------------------------------------------------------------------------------------------

    async def _withdraw(self, errand: Errand, article: Article | None) -> Record:
        publication = errand.publication
        if publication.remote_id is None:
            return self._never_was(errand, article)
        if publication.state != "unpublished":
            if errand.place.kind == FILES:
                await self._demand_folder(errand)
                await self._unfile(errand)
            else:
                overwrite = errand.command.payload.overwrite
                steps = ACCOUNTS[errand.place.kind].withdraw(publication.standing(overwrite=overwrite))
                await self._once(errand, f"withdraw {publication.round}", publication.slug or "", steps)
        outcome = Outcome("unpublished", is_public=False, as_of=article.updated_at if article else None)

        async def record(tx: Transaction) -> None:
            await self._settle(tx, errand, outcome)
            errand.context.log.info(
                "article_withdrawn", content_id=str(publication.content_id), target=publication.target
            )

        return record

    async def _unfile(self, errand: Errand) -> None:
        publication = errand.publication
        before = _filed(publication)
        if before is None:
            return
        try:
            await asyncio.to_thread(
                self._files.remove,
                publication.content_id,
                publication.brand_slug,
                errand.place.settings,
                before,
                tried=publication.tried,
                overwrite=errand.command.payload.overwrite,
            )
        except FilesError as problem:
            if problem.reason != "gone_elsewhere":
                raise TurnedDownError(problem.reason, problem.detail) from problem
        except OSError as problem:
            raise RetryLater(f"the files could not be removed: {problem}") from problem

    def _never_was(self, errand: Errand, article: Article | None) -> Record:
        """Of a home, whoever waits for it hears why; of another target, nobody waits."""
        code, what = ("deleted", "deleted") if article is None else ("taken_down", "taken down")
        problem = Refusal(code, f"The article was {what} before it was published there.")

        async def record(tx: Transaction) -> None:
            await self._settle(tx, errand, Outcome("unpublished", is_public=False))
            if errand.is_home:
                await failed(errand.command, problem, errand.context)(tx)

        return record

    # -- what all have in common -----------------------------------------------------------------------------------------

    async def _claimed(self, command: Command, context: Context, place: Place) -> Errand:
        payload = command.payload
        async with self._database.transaction() as tx:
            publication = await publications.claim(
                tx.connection,
                payload.content_id,
                payload.target,
                brand_slug=payload.brand_slug,
                kind=place.kind,
                account=place.account,
                by=command.event_id,
                lease=LEASE,
            )
        if publication is None:
            raise WaitFor("publication", "another state of it is on its way there", after=_AGAIN)
        return Errand(command, context, place, publication)

    async def _once(self, errand: Errand, name: str, title: str, steps: Sequence[Step]) -> Mapping[str, Any]:
        payload, place = errand.command.payload, errand.place
        effect = Effect(
            receipt_id=uuid5(payload.content_id, f"{payload.target} {name}"),
            kind=place.kind,
            account=place.account,
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
            raise TurnedDownError(problem.reason, problem.detail) from problem
        match done:
            case EffectPerformed(remote):
                return remote
            case EffectInDoubt(detail):
                raise TurnedDownError(
                    "in_doubt", f"{detail}. Look there, then: brandctl receipts show {effect.receipt_id}"
                )

    def _done(self, errand: Errand, article: Article, outcome: Outcome) -> Record:
        payload = errand.command.payload

        async def record(tx: Transaction) -> None:
            if await is_late(tx.connection, errand.command):
                return
            if await store.deleted(tx.connection, [article.content_id]):
                raise RetryLater("the article was deleted while it was published; it is taken away again")
            await self._settle(tx, errand, outcome)
            url = outcome.url or errand.publication.url or payload.canonical_url
            assert url is not None
            published = ContentPublished(
                brand_slug=payload.brand_slug,
                content_id=payload.content_id,
                published_url=url,
                as_of=outcome.as_of,
                target=payload.target,
                short_link=await self._short_link(tx, errand, article),
            )
            tx.send(published, caused_by=errand.command)
            errand.context.log.info(
                "article_published", content_id=str(payload.content_id), target=payload.target, url=url
            )

        return record

    async def _short_link(self, tx: Transaction, errand: Errand, article: Article) -> str | None:
        if self._links is None or not errand.is_home:
            return None
        payload = errand.command.payload
        brand = BrandSlug(payload.brand_slug)
        return await self._links.of(
            tx.connection, brand, payload.content_id, payload.target, title=article.title
        )

    def _not_done(self, errand: Errand, problem: TurnedDownError) -> Record:
        publication = errand.publication
        outcome = Outcome(
            "failed",
            is_public=publication.is_public,
            cover=publication.cover,
            reason=problem.reason,
            detail=problem.detail,
        )

        async def record(tx: Transaction) -> None:
            if await is_late(tx.connection, errand.command):
                return
            await self._settle(tx, errand, outcome)
            await failed(errand.command, Refusal(problem.reason, problem.detail), errand.context)(tx)

        return record

    async def _settle(self, tx: Transaction, errand: Errand, outcome: Outcome) -> None:
        if not await publications.settle(tx.connection, errand.publication, errand.by, outcome):
            raise WaitFor("publication", "another command has taken it over", after=_AGAIN)


async def ask_again(receipt: Receipt, remote: Mapping[str, Any] | None, tx: Transaction) -> None:
    """A person has decided about what was in doubt: its article goes on from there."""
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


def failed(command: Command, problem: Refusal, context: Context) -> Record:
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


def _filed(publication: Publication) -> Filed | None:
    if publication.remote_id is None:
        return None
    # What was taken away is not missed.
    seen = publication.seen if publication.is_public else None
    return Filed(publication.remote_id, publication.cover, seen)
