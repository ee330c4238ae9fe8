"""Synonyms for searching. Pure.

The index already unites inflections ("encrypting", "encrypted"), and phrasal verbs with their nouns ("backing up", "backup").
These groups add what stems cannot. A synonym makes a passage a candidate; ranking discounts it, and a synonym alone never
makes a passage relevant.
"""

from collections.abc import Iterable, Mapping
from typing import Final

EQUAL: Final = (
    # One word in several spellings or parts of speech.
    "analyse analyze analysis analytical",
    "behaviour behavior",
    "catalogue catalog",
    "centre center",
    "choose choice",
    "colour color",
    "defence defense",
    "delivery deliver",
    "email e-mail mail",
    "failure fail",
    "fibre fiber",
    "flavour flavor",
    "grey gray",
    "licence license",
    "login logon signin",
    "maintenance maintain",
    "organise organize organisation organization",
    "optimise optimize optimisation optimization",
    "performance perform",
    "recovery recover",
    "safety safe safely",
    "storage store storing",
    "synchronise synchronize sync synchronisation",
    "tyre tire",
    "website webpage",
    "yoghurt yogurt",
)
NEAR: Final = (
    # Near synonyms. They count only beside another word of the keyword.
    "begin start launch",
    "bug defect error fault",
    "build compile",
    "buy purchase",
    "car automobile vehicle",
    "children kids",
    "clean wash",
    "computer machine pc",
    "configure setup setting configuration",
    "copy duplicate replicate",
    "cost price",
    "create make generate",
    "credential password passphrase",
    "customer client buyer",
    "delete remove erase uninstall",
    "device hardware",
    "directory folder",
    "disk drive partition volume filesystem",
    "doctor physician",
    "document file",
    "employee staff worker",
    "fast quick speed",
    "fix repair mend",
    "function method routine",
    "guide tutorial introduction howto",
    "harden secure security protect",
    "holiday vacation",
    "illness disease sickness",
    "increase raise grow",
    "install installation deploy",
    "keyboard shortcut hotkey",
    "lawyer attorney",
    "memory ram",
    "monitor observe watch supervise",
    "network lan",
    "package software",
    "permission privilege right access",
    "phone telephone smartphone",
    "photo picture image photograph",
    "plugin extension module addon",
    "program application app software",
    "query search lookup",
    "recipe dish",
    "reduce lower decrease",
    "replace substitute swap",
    "restore recover recovery",
    "backup archive snapshot",
    "salary wage pay",
    "sell sale",
    "server host",
    "show display",
    "spam junk",
    "stop halt terminate",
    "test check verify",
    "update upgrade",
    "upload send",
    "user account",
    "virus malware",
    "website site",
)


def all_words() -> list[str]:
    """All of them, each once."""
    return sorted({word for group in (*EQUAL, *NEAR) for word in group.split()})


class Synonyms:
    """Synonyms of stemmed words; `stems` are those of `words()`."""

    def __init__(self, stems: Mapping[str, str]) -> None:
        self._equal = _by_lexeme(EQUAL, stems)
        self._near = _by_lexeme(NEAR, stems)

    def for_lexemes(
        self, lexemes: Iterable[str]
    ) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
        """Return two mappings from stemmed words to their stemmed synonyms: equal ones and near ones."""
        wanted = frozenset(lexemes)
        equal, near = (
            {lexeme: groups[lexeme] - wanted for lexeme in wanted & groups.keys()}
            for groups in (self._equal, self._near)
        )
        return equal, near


def _by_lexeme(groups: Iterable[str], stems: Mapping[str, str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in groups:
        stemmed = frozenset(stems[word] for word in group.split() if word in stems)
        for lexeme in stemmed:
            found[lexeme] = found.get(lexeme, frozenset()) | stemmed
    return found
