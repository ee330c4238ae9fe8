"""Instagram: `graph.instagram.com` (or `graph.facebook.com`), for one professional account.

Documented: https://developers.facebook.com/docs/instagram-platform/content-publishing,
https://developers.facebook.com/docs/instagram-platform/instagram-graph-api/reference/ig-user/media
"""

from typing import Final

from fakes.channels._graph import GraphFake, given, graph_error, missing
from fakes.serving.cases import ChannelCase, EffectPlace, access, user
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import route

_MOST: Final = 2200
_HASHTAGS: Final = 30


class FakeInstagram(GraphFake):
    def __init__(self, token: str = "instagram-token", *, polls: int = 1) -> None:
        super().__init__(token, "17841405309211844", "acme.coffee", quota=100, polls=polls)

    @route("GET", "/{version}/me")
    def me(self, request: Request, version: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        return as_json({"user_id": self.user_id, "username": self.username, "id": "25000000000000001"})

    @route("POST", "/{version}/{user}/media")
    def make_container(self, request: Request, version: str, user: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        if not self.is_me(user):
            return missing(user)
        data = given(request)
        caption, url = data.get("caption", ""), data.get("image_url")
        if not url:
            return graph_error("The parameter image_url is required", 100)
        if len(caption) > _MOST or caption.count("#") > _HASHTAGS:
            return graph_error("The caption is too long", 36004, 2207010, told="The caption was too long.")
        match self.media_type(url):
            case None:
                told = "The media could not be fetched from this URI."
                return graph_error("Media download has failed.", 9004, 2207052, told=told)
            case "image/jpeg":
                return self.contain(data, self.polls)
            case _:
                told = "The image format is not supported. Please use JPEG."
                return graph_error("Invalid image format", 36001, 2207005, told=told)

    @route("POST", "/{version}/{user}/media_publish")
    def publish_container(self, request: Request, version: str, user: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        container = self.containers.get(given(request).get("creation_id", ""))
        if not self.is_me(user) or container is None:
            return missing(user)
        if self.is_published_out():
            told = "You have reached the maximum number of posts that can be published by this account"
            return graph_error("Application request limit reached", 9, 2207042, status=403, told=told)
        if container.status == "IN_PROGRESS":
            self.status_of(container)
        if container.status == "EXPIRED":
            return graph_error("The container has expired", 24, 2207006, told="The media could not be found.")
        if container.status != "FINISHED":
            told = "The media is not ready for publishing, please wait for a moment"
            return graph_error("Media ID is not available", 9007, 2207027, told=told)
        number = len(self.accepted) + 1
        return self.publish(
            container,
            container.given.get("caption", ""),
            f"https://www.instagram.com/p/C{number:010}/",
            {"pictures": [container.given["image_url"]], "alt": container.given.get("alt_text", "")},
        )

    @route("GET", "/{version}/{user}/media")
    def list_media(self, request: Request, version: str, user: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        if not self.is_me(user):
            return missing(user)
        return self.listed(request, self.accepted, "caption")

    @route("GET", "/{version}/{user}/content_publishing_limit")
    def limit(self, request: Request, version: str, user: str) -> Reply:
        if not self.is_known(request):
            return self.expired(request)
        config = {"quota_total": self.quota, "quota_duration": 86400}
        return as_json({"data": [{"quota_usage": len(self.accepted), "config": config}]})

    @route("GET", "/{version}/{node}")
    def node(self, request: Request, version: str, node: str) -> Reply:
        """A container or a post."""
        if not self.is_known(request):
            return self.expired(request)
        if (container := self.containers.get(node)) is not None:
            status = self.status_of(container)
            return as_json({"status_code": status, "status": f"{status.title()}: Media", "id": node})
        post = next((each for each in self.accepted if each.id == node), None)
        return (
            as_json(self.media(post, request.query.get("fields", ""), "caption")) if post else missing(node)
        )


CASES: Final = (
    ChannelCase(
        "instagram",
        lambda: FakeInstagram(polls=0),
        ("POST */media", "POST */media_publish"),
        facts=user,
        credentials=access,
    ),
)
PLACE: Final = EffectPlace("instagram", lambda: FakeInstagram(polls=0), access)
