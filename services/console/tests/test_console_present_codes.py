"""What code the services run: asked once in a few seconds, and again of one that was away."""

from typing import Any

from console.pages.present_codes import PresentCodes


async def test_each_service_is_asked_once_in_a_few_seconds_and_one_that_was_away_again() -> None:
    now, asked = 0.0, []
    answers: dict[str, Any] = {"monitor": {"code": "a"}, "social": {"code": None}, "research": None}

    async def ask(service: str) -> Any:
        asked.append(service)
        return answers[service]

    codes = PresentCodes(clock=lambda: now)
    for _ in range(2):
        assert await codes.read(["monitor", "social", "research", None, "nobody"], ask) == {"monitor": "a"}
    assert sorted(asked) == ["monitor", "research", "research", "social"]
    now, answers["monitor"] = 11.0, {"code": "b"}
    assert await codes.read(["monitor"], ask) == {"monitor": "b"}
    answers["monitor"] = None
    now = 22.0
    assert await codes.read(["monitor"], ask) == {}
