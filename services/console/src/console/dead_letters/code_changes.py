"""Whether the code in which messages failed has changed since: what they carry, beside what their services run now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

from client.message_services import MESSAGE_SERVICES
from console.pages import PageViewer
from console.pages.parts import parts_of
from console.pages.present_codes import PresentCode

NOTHING_KNOWN: Final[PresentCode] = {}


@dataclass(frozen=True, slots=True)
class CodeComparison:
    """How many of some failures ran code that their services have changed since."""

    total: int
    changed: int
    same: int
    away: tuple[str, ...] = ()
    """Services of the others that do not say what they run now."""

    @property
    def unknown(self) -> int:
        return self.total - self.changed - self.same


async def read_present_code(
    request: Request, viewer: PageViewer, services: Iterable[str | None]
) -> PresentCode:
    """Reads what these services run now. A person who is bound to brands may not ask, so nothing is known."""
    if viewer.person.brands is not None:
        return NOTHING_KNOWN
    return await parts_of(request).present_codes.read(
        services, lambda service: viewer.ask_one(service, getattr(viewer, service).get_backbone())
    )


def compare(codes: Sequence[Mapping[str, Any]], total: int, present: PresentCode) -> CodeComparison:
    """Compares the codes of `total` failures, each with its `service` and its `count`, with the present ones."""
    known = [each for each in codes if each["service"] in present]
    changed = sum(each["count"] for each in known if each["code"] != present[each["service"]])
    same = sum(each["count"] for each in known if each["code"] == present[each["service"]])
    away = {each["service"] for each in codes if each["service"] in MESSAGE_SERVICES} - set(present)
    return CodeComparison(total, changed, same, tuple(sorted(away)))


def compare_letter(letter: Mapping[str, Any], present: PresentCode) -> CodeComparison:
    codes = [{**letter, "count": 1}] if letter.get("code") else []
    return compare(codes, 1, present)
