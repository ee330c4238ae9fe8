"""Threads: `graph.threads.net`, for one account.

Documented: https://developers.facebook.com/docs/threads/posts, …/troubleshooting, …/reference/publishing, …/overview#limits
"""

from typing import Final

from fakes.channels._graph import GraphFake, given, graph_error, missing
from fakes.serving.cases import ChannelCase, EffectPlace, access, user
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import route

_MOST: Final = 500
_LINKS: Final = 5


class FakeThreads(GraphFake):
    """Text is ready at once; pictures are fetched first."""

    def __init__(self, token: str = "threads-token", *, polls: int = 1) -> None:
        super().__init__(token, "24600000000000001", "acme.coffee", quota=250, polls=polls)

    @route("GET", "/{version}/me")
    def me(self, request: Request, version: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        return as_json({"id": self.user_id, "username": self.username})

    @route("POST", "/{version}/{user}/threads")
    def make_container(self, request: Request, version: str, user: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        if not self.is_me(user):
            return missing(user)
        data = given(request)
        kind, text = data.get("media_type"), data.get("text", "")
        if kind not in {"TEXT", "IMAGE"}:
            return graph_error("Param media_type must be one of {TEXT, IMAGE, VIDEO, CAROUSEL}", 100)
        if _length(text) > _MOST:
            return graph_error("Param text must be at most 500 characters long.", 100)
        if text.count("://") > _LINKS:
            return graph_error(
                "The post has too many links", 100, 4279042, told="Reduce the number of links."
            )
        if kind == "TEXT":
            return self.contain(data, 0) if text else graph_error("Param text is required", 100)
        if self.media_type(data.get("image_url", "")) not in {"image/jpeg", "image/png"}:
            return graph_error("The media could not be fetched from this URI", 9004, 2207052)
        return self.contain(data, self.polls)

    @route("POST", "/{version}/{user}/threads_publish")
    def publish_container(self, request: Request, version: str, user: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        container = self.containers.get(given(request).get("creation_id", ""))
        if not self.is_me(user) or container is None:
            return missing(user)
        if self.is_published_out():
            return graph_error(
                "User posting limit reached", 9, 2207042, status=403, told="You have posted too often."
            )
        if container.given.get("media_type") == "TEXT" and container.status == "IN_PROGRESS":
            self.status_of(container)
        if container.status != "FINISHED":
            told = f"The media with id {container.id} cannot be found."
            return graph_error("The requested resource does not exist", 24, 4279009, told=told)
        number = len(self.accepted) + 1
        return self.publish(
            container,
            container.given.get("text", ""),
            f"https://www.threads.net/@{self.username}/post/C{number:010}",
            {
                "pictures": [url] if (url := container.given.get("image_url")) else [],
                "alt": container.given.get("alt_text", ""),
                "answers": container.given.get("reply_to_id"),
            },
        )

    @route("GET", "/{version}/{user}/threads")
    def list_posts(self, request: Request, version: str, user: str) -> Reply:
        """Posts, not replies; newest first."""
        return self._listed(request, user, "post")

    @route("GET", "/{version}/{user}/replies")
    def list_replies(self, request: Request, version: str, user: str) -> Reply:
        return self._listed(request, user, "comment")

    @route("GET", "/{version}/{node}")
    def node(self, request: Request, version: str, node: str) -> Reply:
        """A container or a post."""
        if not self.is_known(request):
            return self.expired(request)
        if (container := self.containers.get(node)) is not None:
            return as_json({"status": self.status_of(container), "id": node})
        post = next((each for each in self.accepted if each.id == node), None)
        return as_json(self.media(post, request.query.get("fields", ""), "text")) if post else missing(node)

    def _listed(self, request: Request, user: str, kind: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        if not self.is_me(user):
            return missing(user)
        return self.listed(request, [each for each in self.accepted if each.kind == kind], "text")


def _length(text: str) -> int:
    """Emoji count by their bytes."""
    return sum(len(each.encode()) if ord(each) > 0xFFFF else 1 for each in text)


CASES: Final = (
    ChannelCase(
        "threads",
        lambda: FakeThreads(polls=0),
        ("POST */threads", "POST */threads_publish"),
        facts=user,
        credentials=access,
    ),
    ChannelCase(
        "threads",
        lambda: FakeThreads(polls=0),
        ("POST */threads 2", "POST */threads_publish 2"),
        facts=user,
        credentials=access,
        placement="first_comment",
        variant="with a comment",
    ),
)
PLACE: Final = EffectPlace("threads", lambda: FakeThreads(polls=0), access)
