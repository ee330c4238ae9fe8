"""Fields that a command is given, and settings that it clears."""

from collections.abc import Collection, Mapping
from typing import Any

from brandctl.errors import UsageError


def given(**fields: Any) -> dict[str, Any]:
    """Returns the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def given_settings(settings: Mapping[str, Any], clear: Collection[str], command: str) -> dict[str, Any]:
    """Returns the settings with a value.

    Raises:
        UsageError: one is both set and cleared, or the command does neither.
    """
    found = given(**settings)
    for setting in clear:
        if setting in found:
            raise UsageError(f"--clear {setting}: the same command sets it; give only one of the two")
    if not found and not clear:
        raise UsageError(f"no setting is given; brandctl {command} --help lists them")
    return found
