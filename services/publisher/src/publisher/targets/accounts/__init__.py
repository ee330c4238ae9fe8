"""Kinds of accounts that articles go to, one module each; a new module needs no registration."""

from collections.abc import Mapping
from typing import Final

from integrations.discovery import find_classes
from publisher.targets.target import AccountTarget

ACCOUNTS: Final[Mapping[str, AccountTarget]] = {
    target.site.name: target for target in (found() for found in find_classes(__name__, AccountTarget))
}
"""By kind of account."""

__all__ = ["ACCOUNTS"]
