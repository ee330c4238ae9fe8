"""Recognises licences by their text or name. Pure."""

import html
import re
from typing import Final

MAX_NAME: Final = 120
MAX_LOOKED_AT: Final = 20_000
"""Characters; a licence names itself at its beginning."""

_MARKUP: Final = re.compile(r"<(?:!doctype|html|head|body|div|p|h[1-6])\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,2000}>")
_UNSEEN: Final = re.compile(r"<(script|style)\b[^<>]{0,2000}>[^<]{0,10000}</\1\s*>", re.IGNORECASE)
_SPACES: Final = re.compile(r"\s+")

# Wording that only one licence has, and its name; the more particular first.
_KNOWN: Final = tuple(
    (re.compile(wording, re.IGNORECASE), name)
    for wording, name in (
        (r"\bCC0 1\.0\b", "CC0 1.0 Universal"),
        (r"(?:Creative Commons|CC)[ -]BY-(NC-SA|NC-ND|NC|SA|ND)[ -](\d\.\d)", r"CC BY-\1 \2"),
        (r"\bCC[ -]BY[ -](\d\.\d)", r"CC BY \1"),
        (r"Attribution[ -]NonCommercial[ -]ShareAlike (\d\.\d)", r"CC BY-NC-SA \1"),
        (r"Attribution[ -]NonCommercial[ -]NoDeriv(?:ative)?s (\d\.\d)", r"CC BY-NC-ND \1"),
        (r"Attribution[ -]NonCommercial (\d\.\d)", r"CC BY-NC \1"),
        (r"Attribution[ -]ShareAlike (\d\.\d)", r"CC BY-SA \1"),
        (r"Attribution[ -]NoDeriv(?:ative)?s (\d\.\d)", r"CC BY-ND \1"),
        (r"Creative Commons Attribution (\d\.\d)|^Attribution (\d\.\d) International", r"CC BY \1\2"),
        (r"GNU FREE DOCUMENTATION LICENSE,? Version (\d(?:\.\d)?)", r"GNU FDL \1"),
        (r"GNU AFFERO GENERAL PUBLIC LICENSE,? Version (\d)", r"GNU AGPL \1"),
        (r"GNU LESSER GENERAL PUBLIC LICENSE,? Version (\d(?:\.\d)?)", r"GNU LGPL \1"),
        (r"GNU GENERAL PUBLIC LICENSE,? Version (\d)", r"GNU GPL \1"),
        (r"Apache License,? Version (\d\.\d)", r"Apache License \1"),
        (r"Mozilla Public License,? Version (\d\.\d)", r"MPL \1"),
        (r"Python Software Foundation License", "PSF License"),
        (
            r"\bPostgreSQL License\b|PostgreSQL Database Management System.{0,400}Permission to use",
            "PostgreSQL License",
        ),
        (r"Permission is hereby granted, free of charge, to any person", "MIT License"),
        (r"Permission to use, copy, modify, and/or distribute this software", "ISC License"),
        (
            r"Redistribution and use in source and binary forms.{0,900}Neither the name",
            "BSD 3-Clause License",
        ),
        (r"Redistribution and use in source and binary forms", "BSD 2-Clause License"),
        (r"released into the public domain.{0,900}unlicense", "The Unlicense"),
    )
)
_FREE_ADDRESS: Final = re.compile(
    r"https?://(?:www\.)?creativecommons\.org/(?:licenses/by(?:-sa)?/|publicdomain/)", re.IGNORECASE
)
_RESTRICTED: Final = re.compile(r"\bN[CD]\b|non-?commercial|no-?deriv", re.IGNORECASE)
_FREE: Final = re.compile(
    r"CC0\b|(?:CC|Creative Commons)[ -](?:BY|Attribution)\b|(?:is|in|into|dedicated to) the public domain|^public domain$"
    r"|(?:GNU (?:FDL|A?GPL|LGPL)|Apache License|MPL|PSF License|PostgreSQL License|(?:MIT|ISC|BSD [23]-Clause) License"
    r"|The Unlicense)\b|^(?:MIT|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|MPL-2\.0|Unlicense)$",
    re.IGNORECASE,
)
_CALLS_ITSELF: Final = re.compile(r"licen[cs]e|copyright|public domain|©|rights", re.IGNORECASE)


def licence_name(text: str) -> str | None:
    """Return the name of a well-known licence, else the first line that mentions a licence, else None."""
    looked_at = text[:MAX_LOOKED_AT].replace("\0", "")
    if _MARKUP.search(looked_at):
        looked_at = html.unescape(_TAG.sub("\n", _UNSEEN.sub("\n", looked_at)))
    flat = _SPACES.sub(" ", looked_at).strip()
    for wording, name in _KNOWN:
        if (match := wording.search(flat)) is not None:
            return match.expand(name)
    lines = [_SPACES.sub(" ", line).strip(" #*=-\ufeff") for line in looked_at.splitlines()]
    return next((line for line in lines if len(line) <= MAX_NAME and _CALLS_ITSELF.search(line)), None)


def is_free(licence: str | None) -> bool:
    """Return whether the licence allows commercial reprints with attribution; False for unknown licences.

    `licence` is a name, a sentence, or the address of a Creative Commons licence.
    """
    told = licence or ""
    if _FREE_ADDRESS.search(told):
        return True
    name = licence_name(told) or told
    return _FREE.search(name) is not None and _RESTRICTED.search(name) is None
