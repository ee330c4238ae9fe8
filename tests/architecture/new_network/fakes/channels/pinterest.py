"""Pinterest: an account with one board. Documented: https://developers.pinterest.com/docs/api/v5/pins-create."""

from typing import Any, Final

from fakes.serving.cases import ChannelCase, EffectPlace, access
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

_MOST: Final = 800


class FakePinterest(Fake):
    """Bearer `token`. Pins go to `board`."""

    def __init__(self, token: str = "pinterest-token") -> None:
        super().__init__()
        self.token = token
        self.board = "549755885175"
        self.pins: list[dict[str, Any]] = []

    @route("GET", "/v5/user_account")
    def user_account(self, request: Request) -> Reply:
        return self.expired(request) if request.bearer != self.token else as_json({"username": "acme"})

    @route("POST", "/v5/pins")
    def pin(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        body = request.json()
        if body.get("board_id") != self.board:
            return as_json({"code": 29, "message": "You are not permitted to access that resource."}, 403)
        text = str(body.get("description", ""))
        if len(text) > _MOST or "media_source" not in body:
            return as_json({"code": 1, "message": "Invalid request: description is too long"}, 400)
        number = str(813744226420795884 + len(self.pins))
        made = {"id": number, "created_at": f"{self.now():%Y-%m-%dT%H:%M:%S}", "description": text}
        self.pins.insert(0, made)
        url = f"https://www.pinterest.com/pin/{number}/"
        self.accept(AcceptedItem(number, self.board, text, url=url))
        return as_json(made, 201)

    @route("GET", "/v5/boards/{board}/pins")
    def listed(self, request: Request, board: str) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        return as_json({"items": self.pins if board == self.board else [], "bookmark": None})


def _board(fake: FakePinterest) -> dict[str, str]:
    return {"board": fake.board}


CASES: Final = (
    ChannelCase(
        "pinterest",
        FakePinterest,
        ("POST /v5/pins",),
        facts=_board,
        settings={"board": "549755885175"},
        credentials=access,
        placement="none",
    ),
)
PLACE: Final = EffectPlace(
    "pinterest", FakePinterest, access, lambda fake: {"api_url": fake.url, "board": fake.board}
)
