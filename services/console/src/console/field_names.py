"""The field that a service refuses, by the name that people know it by."""

import re
from collections.abc import Mapping
from typing import Any, Final

from console.texts import Texts

_PATTERN: Final = "does not match "
_STEP: Final = re.compile(r"(\w+)(?:\[(\d{1,6})\])?")


def named_detail(problem: Mapping[str, Any], t: Texts) -> str:
    """Returns a problem's sentence; where it is about a field of the request, with that field's name on the screen.

    A service names fields as its API does: `most_hashtags: must be at most 30`, `menu[1].to: is no address`. The first becomes
    `Most hashtags: …` and the second `Menu, entry 2: …`. Empty for a problem without a sentence.
    """
    first = next(iter(problem.get("errors") or ()), None)
    steps = _STEP.findall(first["field"]) if first else []
    if first is None or not steps:
        return str(problem.get("detail") or "")
    name, entry = next((each for each in steps if each[1]), steps[-1])
    known = f"fields.names.{name}"
    field = t(known) if t.catalogue.has(known) else name.replace("_", " ").capitalize()
    # A pattern is for programs.
    detail = t("fields.wrong_form") if first["detail"].startswith(_PATTERN) else first["detail"]
    if entry:
        return t("fields.entry", field=field, n=int(entry) + 1, detail=detail)
    return t("fields.field", field=field, detail=detail)
