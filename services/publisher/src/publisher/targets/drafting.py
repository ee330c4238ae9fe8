"""Sites without idempotency: a draft is created once, found again by its mark, and then published by its id."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from publisher.targets.edition import CoverPicture, Edition, find_mark
from publisher.targets.target import AccountTarget, RemoteState
from receipts import AccountClient, EffectAbsent, EffectFound, Refused, Step, StepInHand, UnknownOutcome

RemoteArticle: TypeAlias = Mapping[str, Any]
"""The JSON that a site has of an article."""

GONE: Final = "gone_elsewhere"
"""Reason of a failure: the article was deleted at the target."""


class DraftingTarget(AccountTarget):
    """What such sites have in common.

    Subclasses send the requests. They raise `NotSent`, `Refused` or `UnknownOutcome`.
    """

    draft_seconds: ClassVar[float] = 15.0
    """Time limit for the draft or its look-up."""
    seconds: ClassVar[float] = 15.0
    """Time limit for publishing or withdrawing."""
    hidden: ClassVar[RemoteArticle] = {"status": "draft"}
    """The fields that make an article a draft again."""

    async def find(self, account: AccountClient, edition: Edition) -> RemoteArticle | None:
        """The article that an earlier attempt has created, draft or not."""
        raise NotImplementedError

    async def create(self, account: AccountClient, edition: Edition, title: str) -> RemoteArticle:
        """Creates a hidden article that `find` finds; its text is the mark alone."""
        raise NotImplementedError

    async def read(self, account: AccountClient, remote_id: str) -> RemoteArticle | None:
        """The article; None if it was deleted there."""
        raise NotImplementedError

    def fields(
        self, edition: Edition, remote_state: RemoteState, remote: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What shows this edition to readers; `remote` are the results of the preparing steps."""
        raise NotImplementedError

    async def write(
        self, account: AccountClient, remote_id: str, now: RemoteArticle, fields: RemoteArticle
    ) -> RemoteArticle:
        """Changes these fields of the article, which is `now` there; returns it."""
        raise NotImplementedError

    def preparing_steps(self, edition: Edition) -> Sequence[Step]:  # noqa: ARG002 - for those that have some
        """The steps before `publish`, such as an upload."""
        return ()

    def text(self, article: RemoteArticle) -> str:
        """The text that has the mark."""
        raise NotImplementedError

    def seen(self, article: RemoteArticle) -> str:
        """A digest of what a person may change there."""
        raise NotImplementedError

    def state(self, article: RemoteArticle) -> str:
        """The site's word for the article's state."""
        return str(article.get("status"))

    def is_public(self, article: RemoteArticle) -> bool:
        raise NotImplementedError

    def link(self, article: RemoteArticle) -> str:
        return str(article["url"])

    def creation_steps(self, edition: Edition) -> Sequence[Step]:
        async def look(work: StepInHand) -> EffectFound | EffectAbsent:
            found = await self.find(work.account, edition)
            return EffectAbsent() if found is None else EffectFound(self._drafted(found))

        async def send(work: StepInHand) -> Mapping[str, Any]:
            found = await self.find(work.account, edition)
            title = str(work.prepared["title"])
            return self._drafted(found or await self.create(work.account, edition, title))

        return (Step("draft", send, look, seconds=self.draft_seconds),)

    def update_steps(self, edition: Edition, remote_state: RemoteState) -> Sequence[Step]:
        async def publish(work: StepInHand) -> Mapping[str, Any]:
            now = await self.read(work.account, remote_state.remote_id)
            if now is None:
                raise Refused(
                    GONE,
                    f"the article was deleted at {self.site.title}; to create it again:"
                    " brandctl content publish ID TARGET --overwrite",
                )
            mark = find_mark(self.text(now), edition.content_id)
            if mark != edition.mark or not self.is_public(now):
                remote_state.check_unchanged(
                    seen=self.seen(now), mark=mark, is_public=self.is_public(now), state=self.state(now)
                )
                fields = self.fields(edition, remote_state, work.remote)
                now = await self.write(work.account, remote_state.remote_id, now, fields)
            if not self.is_public(now):
                raise UnknownOutcome(
                    f"{self.site.title} has it as '{self.state(now)}' after it was published"
                )
            return {"url": self.link(now), "seen": self.seen(now)}

        return (
            *self.preparing_steps(edition),
            Step("publish", publish, repeatable=True, seconds=self.seconds),
        )

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        async def withdraw(work: StepInHand) -> Mapping[str, Any]:
            now = await self.read(work.account, remote_state.remote_id)
            if now is not None and self.is_public(now):
                await self.write(work.account, remote_state.remote_id, now, self.hidden)
            return {}

        return (Step("withdraw", withdraw, repeatable=True, seconds=self.seconds),)

    def _drafted(self, article: RemoteArticle) -> dict[str, Any]:
        return {"id": str(article["id"]), "seen": self.seen(article), "is_public": self.is_public(article)}


def draft_slug(edition: Edition) -> str:
    """Unique, so that a draft can be looked up by it."""
    return f"draft-{edition.content_id}"


def picture_step(
    edition: Edition, upload: Callable[[AccountClient, CoverPicture], Awaitable[object]]
) -> Step:
    """Uploads the cover, if there is one; its result has what the site calls the file under `picture`."""

    async def send(work: StepInHand) -> Mapping[str, Any]:
        return {"picture": await upload(work.account, edition.picture) if edition.picture else None}

    return Step("picture", send, repeatable=True, unseen=True, seconds=25)
