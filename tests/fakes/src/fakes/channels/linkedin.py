"""LinkedIn: `api.linkedin.com/rest`, for a person or an organisation.

Documented: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api, …/images-api,
…/network-update-social-actions (comments), …/little-text-format; https://learn.microsoft.com/linkedin/shared/api-guide/concepts/error-handling
"""

from itertools import count
from typing import Any, Final
from urllib.parse import unquote

from fakes.serving.cases import ChannelCase, EffectPlace, access
from fakes.serving.exchange import Reply, Request, as_json, empty
from fakes.serving.fake import AcceptedItem, Fake, route

# A text ends at the first of these that no backslash precedes: seen by others, documented nowhere.
_RESERVED: Final = frozenset("|{}@[]()<>*_~")
_MOST: Final = 3000


class FakeLinkedIn(Fake):
    """`reads`: whether posts may be listed and fetched, which tokens of persons usually may not.

    `compares`: whether a repeated text is refused; LinkedIn does not document for how long.
    """

    def __init__(
        self,
        token: str = "linkedin-token",
        author: str = "urn:li:organization:2414183",
        *,
        reads: bool | None = None,
        compares: bool = True,
        versions: frozenset[str] = frozenset({"202604", "202605", "202606", "202610"}),
    ) -> None:
        super().__init__()
        self.token = token
        self.author = author
        self.reads = author.startswith("urn:li:organization:") if reads is None else reads
        self.compares = compares
        self.versions = versions
        self.images: dict[str, bytes] = {}
        self._numbers = count(1)

    @route("POST", "/rest/posts")
    def post(self, request: Request) -> Reply:
        if (no := self._refused(request)) is not None:
            return no
        data = request.json()
        if (problem := self._problem_with(data)) is not None:
            return problem
        text = data["commentary"]
        for earlier in self.accepted:
            if self.compares and earlier.kind == "post" and earlier.more["commentary"] == text:
                return _duplicate(earlier.id)
        urn = f"urn:li:share:{self._number()}"
        self.accept(
            AcceptedItem(
                urn,
                data["author"],
                _seen(text),
                url=f"https://www.linkedin.com/feed/update/{urn}/",
                more={
                    "commentary": text,
                    "content": data.get("content", {}),
                    "published": int(self.now().timestamp() * 1000),
                },
            )
        )
        return empty(201, {"x-restli-id": urn, "x-linkedin-id": urn})

    @route("GET", "/rest/posts")
    def by_author(self, request: Request) -> Reply:
        """`q=author`: newest first, ten unless told otherwise."""
        if (no := self._refused(request, reading=True)) is not None:
            return no
        if (
            request.query.get("q") != "author"
            or request.headers.get("x-restli-method", "").upper() != "FINDER"
        ):
            return _error(400, "ILLEGAL_ARGUMENT", "No finder of this name, or X-RestLi-Method is not FINDER")
        mine = [
            each
            for each in self.accepted
            if each.kind == "post" and each.by == unquote(request.query.get("author", ""))
        ]
        start, most = int(request.query.get("start", "0")), int(request.query.get("count", "10"))
        elements = [self._shown(each) for each in reversed(mine)][start : start + most]
        return as_json({"paging": {"start": start, "count": most, "links": []}, "elements": elements})

    @route("GET", "/rest/posts/{urn}")
    def one(self, request: Request, urn: str) -> Reply:
        if (no := self._refused(request, reading=True)) is not None:
            return no
        found = next((each for each in self.accepted if each.id == urn), None)
        return as_json(self._shown(found)) if found else _error(404, "NOT_FOUND", "Entity is not found")

    @route("POST", "/rest/images")
    def initialise(self, request: Request) -> Reply:
        if (no := self._refused(request)) is not None:
            return no
        if request.query.get("action") != "initializeUpload":
            return _error(400, "ILLEGAL_ARGUMENT", "No such action")
        urn = f"urn:li:image:D4E{self._number()}"
        told = {
            "uploadUrlExpiresAt": int(self.now().timestamp() * 1000) + 3_600_000,
            "uploadUrl": f"{self.url}/dms-uploads/sp/v2/{urn}/uploaded-image/0?ca=vector_feedshare&cn=uploads&sync=0",
            "image": urn,
        }
        return as_json({"value": told})

    @route("PUT", "/dms-uploads/sp/v2/{urn}/uploaded-image/0")
    def upload(self, request: Request, urn: str) -> Reply:
        """The address itself is the permission."""
        self.images[urn] = request.body
        return empty(201)

    @route("POST", "/rest/socialActions/{urn}/comments")
    def comment(self, request: Request, urn: str) -> Reply:
        if (no := self._refused(request)) is not None:
            return no
        if not any(each.id == urn for each in self.accepted):
            return _error(404, "NOT_FOUND", "Could not find the entity")
        data = request.json()
        if data.get("actor") != self.author:
            return _forbidden()
        made = str(self._number())
        text = data["message"]["text"]
        self.accept(AcceptedItem(made, self.author, text, kind="comment", more={"answers": urn}))
        told = self._comment(self.accepted[-1])
        return as_json(told, 201, {"x-restli-id": made})

    @route("GET", "/rest/socialActions/{urn}/comments")
    def comments(self, request: Request, urn: str) -> Reply:
        if (no := self._refused(request, reading=True)) is not None:
            return no
        found = [each for each in self.accepted if each.kind == "comment" and each.more["answers"] == urn]
        return as_json(
            {
                "paging": {"start": 0, "count": 10, "links": []},
                "elements": [self._comment(each) for each in found],
            }
        )

    @route("GET", "/v2/userinfo")
    def who(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        return as_json({"sub": self.author.rpartition(":")[2], "name": "Ada Acme", "locale": "en_US"})

    def limited(self, request: Request) -> Reply:
        return _error(
            429,
            "TOO_MANY_REQUESTS",
            "Resource level throttle APPLICATION_AND_MEMBER DAY limit for calls to this resource is reached.",
        )

    def expired(self, request: Request) -> Reply:
        told = {"status": 401, "serviceErrorCode": 65602, "code": "EXPIRED_ACCESS_TOKEN"}
        return as_json(told | {"message": "The token used in the request has expired"}, 401)

    def failed(self, request: Request, status: int) -> Reply:
        return _error(status, "INTERNAL_SERVER_ERROR", "Internal Server Error")

    def _refused(self, request: Request, *, reading: bool = False) -> Reply | None:
        if request.bearer != self.token:
            return self.expired(request)
        version = request.headers.get("linkedin-version", "")
        if not version:
            return _error(
                400,
                "VERSION_MISSING",
                "A version must be present. Please specify a version by adding the LinkedIn-Version header.",
            )
        if version not in self.versions:
            return _error(426, "NONEXISTENT_VERSION", f"Requested version {version} is not active")
        if request.headers.get("x-restli-protocol-version") != "2.0.0":
            return _error(400, "ILLEGAL_ARGUMENT", "Invalid X-RestLi-Protocol-Version")
        return _forbidden() if reading and not self.reads else None

    def _number(self) -> int:
        """All bits but the last 22 are the time: seen, documented nowhere."""
        return (int(self.now().timestamp() * 1000) << 22) + next(self._numbers)

    def _problem_with(self, data: dict[str, Any]) -> Reply | None:
        needed = ("author", "commentary", "visibility", "distribution", "lifecycleState")
        if missing := [each for each in needed if each not in data]:
            told = "\n".join(
                f"ERROR :: /{each} :: field is required but not found and has no default value"
                for each in missing
            )
            return _error(422, "MISSING_FIELD", told)
        if data["author"] != self.author:
            return _forbidden()
        if len(data["commentary"].encode("utf-16-le")) // 2 > _MOST:
            return _error(
                400, "FIELD_LENGTH_TOO_LONG", "ShareCommentary text length exceeded the maximum allowed"
            )
        media = data.get("content", {}).get("media", {}).get("id")
        thumbnail = data.get("content", {}).get("article", {}).get("thumbnail")
        if any(each is not None and each not in self.images for each in (media, thumbnail)):
            return _error(400, "MEDIA_ASSET_PROCESSING_FAILED", "The image is not there")
        return None

    def _shown(self, post: AcceptedItem) -> dict[str, Any]:
        return {
            "id": post.id,
            "author": post.by,
            "commentary": post.more["commentary"],
            "content": post.more["content"],
            "lifecycleState": "PUBLISHED",
            "visibility": "PUBLIC",
            "publishedAt": post.more["published"],
            "createdAt": post.more["published"],
        }

    def _comment(self, comment: AcceptedItem) -> dict[str, Any]:
        urn = comment.more["answers"]
        return {
            "id": comment.id,
            "actor": comment.by,
            "object": urn,
            "message": {"attributes": [], "text": comment.text},
            "commentUrn": f"urn:li:comment:({urn},{comment.id})",
        }


def _seen(commentary: str) -> str:
    """What readers get to see of a commentary in "little" text format: escapes resolved, cut at what was not escaped."""
    seen, escaped = "", False
    for character in commentary:
        if escaped:
            seen, escaped = seen + character, False
        elif character == "\\":
            escaped = True
        elif character in _RESERVED:
            break
        else:
            seen += character
    return seen


def _error(status: int, code: str, message: str) -> Reply:
    return as_json({"status": status, "code": code, "message": message}, status)


def _forbidden() -> Reply:
    told = {"status": 403, "serviceErrorCode": 100, "code": "ACCESS_DENIED"}
    return as_json(told | {"message": "Not enough permissions to access this resource"}, 403)


def _duplicate(urn: str) -> Reply:
    told = {
        "errorDetailType": "com.linkedin.common.error.BadRequest",
        "message": f"com.linkedin.content.common.exception.BadRequestResponseException: Content is a duplicate of {urn}",
        "errorDetails": {
            "inputErrors": [
                {"description": "Duplicate post is detected", "input": {}, "code": "DUPLICATE_POST"}
            ]
        },
        "status": 422,
    }
    return as_json(told, 422)


_COMMENT: Final = "POST /rest/socialActions/*"


def _person() -> FakeLinkedIn:
    return FakeLinkedIn(author="urn:li:person:782bbtaQ")


def _author(linkedin: FakeLinkedIn) -> dict[str, str]:
    return {"author": linkedin.author}


CASES: Final = (
    ChannelCase(
        "linkedin",
        lambda: FakeLinkedIn(compares=False),
        ("POST /rest/images", "PUT /dms-uploads/*", "POST /rest/posts"),
        facts=_author,
        settings={"organization": "2414183"},
        credentials=access,
        variant="organisation",
    ),
    ChannelCase(
        "linkedin",
        lambda: FakeLinkedIn(compares=False),
        (_COMMENT,),
        facts=_author,
        placement="first_comment",
        variant="organisation, with a comment",
    ),
    ChannelCase(
        "linkedin", _person, ("POST /rest/posts",), facts=_author, credentials=access, variant="person"
    ),
    ChannelCase(
        "linkedin",
        _person,
        (_COMMENT,),
        frozenset({_COMMENT}),
        facts=_author,
        placement="first_comment",
        variant="person, with a comment",
    ),
)
PLACE: Final = EffectPlace(
    "linkedin",
    lambda: FakeLinkedIn(compares=False),
    access,
    lambda linkedin: {"api_url": linkedin.url, "organization": linkedin.author.rpartition(":")[2]},
)
