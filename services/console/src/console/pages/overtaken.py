"""Forms that were overtaken: somebody else has stored something since the form was shown.

A form has the mark of what it showed, in the hidden field `seen`. A service that keeps no version of a thing cannot refuse the
second of two people who change it; the screen can.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from console.pages.forms import Form


def mark_of(stored: Any) -> str:
    """A short word that differs for another state of the same thing."""
    return hashlib.sha256(json.dumps(stored, sort_keys=True, default=str).encode()).hexdigest()[:12]


def is_overtaken(form: Form, stored: Any) -> bool:
    """Whether what is stored differs from what the form showed; a form without a mark is as good as one that was just shown."""
    return form.text("seen") not in ("", mark_of(stored))


def stored_instead(typed: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """The stored values of the fields in which somebody typed something else, by field; a field that is not stored is empty."""
    return {name: stored.get(name, "") for name in typed if typed[name] != stored.get(name, "")}
