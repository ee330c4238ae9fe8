"""Titles, headings and descriptions as a person would write them. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from documents.blocks import Block, Paragraph
from documents.words import bare_title, telling_stems, words_of
from writing.article import MAX_META_DESCRIPTION, MAX_TITLE
from writing.extractive.sentences import split
from writing.quality.measures import MAX_HEADING

MIN_DESCRIPTION: Final = 80
_SHORT_DESCRIPTION: Final = 50
"""Below it, a whole sentence says too little."""
_CLAUSE_AFTER: Final = 70
# A word of this many capitals is an acronym, even in a heading that is all capitals.
_ACRONYM: Final = 4
# A short word in capitals with a vowel is an acronym only if the list has it.
_ACRONYMS: Final = frozenset(
    "ACID ACL AES AI API APIS ASCII AWS CA CIDR CLI CPU EOF EU GID GPU GUI HEAD ID IDE IDS IMAP IO IOT IP IPC ISO IT JSON LAN LUKS NAS"  # noqa: SIM905
    " NAT NUMA OAUTH OIDC OS PAM PID POSIX RAID RAM REST ROM SAML SASL SATA SOAP UDP UEFI UI UID UK UML UNIX UPS URI URL URLS US USA"
    " USB UTC UTF-8 UUID UX VAT VLAN WAL WAN YAML".split()
)
_VOWEL: Final = re.compile(r"[AEIOU]")
_SEPARATOR: Final = re.compile(r"\s+(?:[–—|·•»]|::|--?)\s+")  # noqa: RUF001 - the dashes between title and site
_SITE: Final = re.compile(
    r"\b(?:documentation|docs|manual|handbook|reference|wiki(?:pedia)?|blog|help|guide|tutorial|home ?page|website|faq|"
    r"developers?|official site|v?\d+(?:\.\d+)+)\b|\.(?:org|com|net|io|dev)\b",
    re.IGNORECASE,
)
_PLAIN_WORDS: Final = re.compile(r"[a-z]{2,}(?:[ -][a-z]{2,})*")
_LOWER_WORDS: Final = re.compile(r"[a-z]+(?:[ -][a-z]+)*")
_NAME_OF_CODE: Final = re.compile(r"^[a-z][\w.+:-]*$")
_CALL: Final = re.compile(r"^(?:[^=(]{1,60}=\s*)?([\w.:]+)\s*\(.*\)\s*;?$")
_MIN_HEADING: Final = 20
_ADDITIONS: Final = re.compile(
    r"[;:,]\s|\s\(|\s[–—-]\s|\s(?:for|in|with|from|on|if|by|using|without|and|or|via)\s"  # noqa: RUF001
)
# Places to end a long sentence.
_CLAUSES: Final = re.compile(
    r"[;:]\s|\s\(|, (?:which|because|and|so|but|where|while|who|whose|or|as|if|when|although|since)\b|\s[–—]\s|,\s"  # noqa: RUF001
)


def tidy(heading: str) -> str:
    """Strips numbers, site names, manual sections and link marks; turns all capitals into a normal spelling."""
    text = bare_title(heading.replace("\0", "").rstrip("¶#: ")) or heading
    parts = [part for part in _SEPARATOR.split(text) if part]
    while len(parts) > 1 and (_SITE.search(parts[-1]) or {*words_of(parts[-1])} <= {*words_of(parts[0])}):
        parts.pop()
    if len(parts) > 1 and (
        _NAME_OF_CODE.match(bare_title(parts[0]))
        or (_SITE.search(parts[0]) and _NAME_OF_CODE.match(bare_title(parts[1])))
    ):
        # "git-rebase - Reapply commits", "asyncio — Asynchronous I/O": a code name, then its description. "Postfix manual -
        # virtual(5)": a site, then a code name.
        parts = parts[1:]
    text = bare_title(" – ".join(parts))  # noqa: RUF001
    return _lowered(text) if _is_shouted(text) else text


def heading_of(title: str, *, is_entry: bool) -> str:
    """Returns a section's heading in an article; that of an entry is its name without arguments."""
    call = _CALL.match(title)
    if is_entry:
        return cut(call[1] if call else title, MAX_HEADING)
    text = tidy(title)
    return _shortened(text[:1].upper() + text[1:] if _PLAIN_WORDS.fullmatch(text) else text)


def _shortened(heading: str) -> str:
    """Cuts a long heading before a word that only adds to it: "Building kilns" for "Building kilns for clay and …"."""
    if len(heading) <= MAX_HEADING:
        return heading
    places = [each.start() for each in _ADDITIONS.finditer(heading, _MIN_HEADING, MAX_HEADING)]
    return heading[: places[-1]].rstrip(" ,;:") if places else cut(heading, MAX_HEADING)


def article_title(keyword: str, title: str, *, is_entry: bool) -> str:
    """Returns the title of the page, or section, if it is the keyword; else the keyword. Names of code keep their case."""
    own = heading_of(title, is_entry=True) if is_entry else tidy(title)
    if telling_stems(own) == telling_stems(keyword) or own.casefold() == keyword.casefold():
        return cut(own, MAX_TITLE)
    # "Postfix manual - postkick": a page's name, as it is typed.
    is_name = keyword in _SEPARATOR.split(bare_title(title))
    raised = keyword if is_name or not _LOWER_WORDS.fullmatch(keyword) else keyword[:1].upper() + keyword[1:]
    return cut(raised, MAX_TITLE)


def description(blocks: Sequence[Block]) -> str:
    """Returns the first whole sentences, up to 155 characters; a long first one ends at a clause.

    A sentence that leads up to a list is left out, or ends before its colon.
    """
    text = ""
    for block in blocks:
        if not isinstance(block, Paragraph):
            break
        for sentence in split(block.text):
            if sentence.endswith(":") and len(text) >= _SHORT_DESCRIPTION:
                return text
            longer = f"{text} {sentence}" if text else sentence
            if len(longer) > MAX_META_DESCRIPTION:
                return text if len(text) >= _SHORT_DESCRIPTION else _cut_clause(longer)
            text = longer
        if len(text) >= MIN_DESCRIPTION or not text.endswith((".", "!", "?")):
            break
    return text if text.endswith((".", "!", "?")) else _cut_clause(text.rstrip(" :,;") + "…")


def _cut_clause(text: str) -> str:
    if len(text) <= MAX_META_DESCRIPTION:
        return text
    places = [each.start() for each in _CLAUSES.finditer(text, _CLAUSE_AFTER, MAX_META_DESCRIPTION)]
    best = max((at for at in places if text[at] in ";:(—– " or text[at + 2 :][:1].isalpha()), default=0)  # noqa: RUF001
    return f"{text[:best].rstrip(' ,;:–—(')}…" if best else cut(text, MAX_META_DESCRIPTION)  # noqa: RUF001


def cut(text: str, size: int) -> str:
    """Cuts a text to whole words, with an ellipsis."""
    if len(text) <= size:
        return text
    kept = text[: size - 1]
    return (kept.rpartition(" ")[0] if " " in kept else kept).rstrip(" ,;:–—-([") + "…"  # noqa: RUF001


def comparable(heading: str) -> str:
    return " ".join(words_of(re.sub(r"\([^)]*\)", "", heading)))


def _lowered(text: str) -> str:
    """Returns "Configuration of TLS" for "CONFIGURATION OF TLS"."""
    words = [word if _is_acronym(word) else word.lower() for word in text.split()]
    lowered = " ".join(words)
    return lowered[:1].upper() + lowered[1:]


def _is_acronym(word: str) -> bool:
    letters = word.strip("()[],.:;")
    return letters in _ACRONYMS or (len(letters) <= _ACRONYM and _VOWEL.search(letters) is None)


def _is_shouted(text: str) -> bool:
    """Whether a heading is all in capitals, and longer than an acronym."""
    return text.isupper() and len(text) > _ACRONYM
