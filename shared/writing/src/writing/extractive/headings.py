"""Formats titles and headings as a person would write them. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from writing.extractive.sentences import stems_of, words_of

MAX_TITLE: Final = 60
MAX_HEADING: Final = 70
# A word of this many capitals is an acronym, even in a heading that is all capitals.
_ACRONYM: Final = 4
# A short word in capitals with a vowel is an acronym only if the list has it.
_ACRONYMS: Final = frozenset(
    "ACID ACL AES AI API APIS ASCII AWS CA CIDR CLI CPU EOF EU GID GPU GUI HEAD ID IDE IDS IMAP IO IOT IP IPC ISO IT JSON LAN LUKS NAS"  # noqa: SIM905
    " NAT NUMA OAUTH OIDC OS PAM PID POSIX RAID RAM REST ROM SAML SASL SATA SOAP UDP UEFI UI UID UK UML UNIX UPS URI URL URLS US USA"
    " USB UTC UTF-8 UUID UX VAT VLAN WAL WAN YAML".split()
)
_VOWEL: Final = re.compile(r"[AEIOU]")
_MAX_PARTS: Final = 3
# A heading with at least this many words is a heading, even with identifiers.
_SENTENCE: Final = 4
_FEWEST_PART_WORDS: Final = 2
_PART_WORDS: Final = 4

_SEPARATOR = re.compile(r"\s+(?:[–—|·•»]|::|--?)\s+")  # noqa: RUF001 - the dashes between title and site
_SITE = re.compile(
    r"\b(?:documentation|docs|manual|handbook|reference|wiki(?:pedia)?|blog|help|guide|tutorial|home ?page|website|faq|"
    r"developers?|official site|v?\d+(?:\.\d+)+)\b|\.(?:org|com|net|io|dev)\b",
    re.IGNORECASE,
)
_MAN_PAGE = re.compile(r"^([\w.+:-]+)\s?\(\d\w?\)(?:\s+Manual Page)?$")
_NUMBERING = re.compile(
    r"^(?:(?:chapter|appendix|part|section)\s+)?(?:[A-Z]\.)?(?:\d+|[A-Z])(?:\.\d+)*\.?\s+(?=\S)(?<=[.\d]\s)"
    r"|^(?:chapter|part|appendix)\s+[\dIVXLA-Z]+[:.]\s+",
    re.IGNORECASE,
)
_PLAIN_WORDS = re.compile(r"[a-z]{2,}(?:[ -][a-z]{2,})*(?: [a-z-]{2,})+")
_NAME_OF_CODE = re.compile(r"^[a-z][\w.+:-]*$")
# "git-pull", unlike "on-site" in "On-site checks", is all of a heading's first word.
_NAME_WITH_DASH = re.compile(r"[a-z]+-[a-z-]+$")
_CODE = re.compile(r"[(\[{=<>_$\\/@]|--|::|^\W|^\S+\.\S+$|^[a-z]+$")
# Headings of options, fields or functions: their text explains nothing general.
_ENTRY = re.compile(
    r"--|^[^\w\"'“‘]|[\[{=<>]|\w\(|\w_\w|\((?:integer|boolean|string|enum|floating point|real|text|name|oid)\)|^[a-z][^\s]*$"  # noqa: RUF001
    r"|^\S+\.\S+$|^[A-Z]+_[A-Z_]+|^\$"
)
_TELLS_NOTHING: Final = frozenset(
    "introduction overview description architecture summary background notes note examples example usage concepts details"  # noqa: SIM905
    " caveats restrictions conflicts security monitoring configuration settings syntax parameters reference options general"
    " basics principles features glossary faq limitations quickstart discussion bugs synopsis name miscellaneous conclusion"
    " tutorial rationale terminology abstract preface history author authors compatibility environment files diagnostics"
    " warning warnings tip tips important caution content contents documentation commands".split()
)
_BOOK = re.compile(
    r"\b(?:manual|documentation|handbook|reference|cookbook|guide|faq|howto|tutorial|book|library)\b",
    re.IGNORECASE,
)
_GLOSSARY = re.compile(
    r"glossary\b|\b(?:terminology|terms|vocabulary|dictionary|lexicon|jargon)\b", re.IGNORECASE
)
_NEWS = re.compile(
    r"\b(?:what[’']?s new|release notes?|change ?log|changes (?:in|to|since)|new and improved|porting to|news|revision history|"  # noqa: RUF001
    r"deprecat(?:ed|ions?)|removed|roadmap|to-?do|future directions?|acknowledge?ments?|credits)\b",
    re.IGNORECASE,
)
_AND: Final = {
    "en": "and",
    "de": "und",
    "fr": "et",
    "es": "y",
    "it": "e",
    "pt": "e",
    "nl": "en",
    "sv": "och",
    "da": "og",
}
_ANDS: Final = frozenset(_AND.values())


def tidy(heading: str) -> str:
    """Strips numbers, site names, manual sections and link marks; turns all capitals into a normal spelling."""
    text = _NUMBERING.sub("", " ".join(heading.replace("\0", "").split()).rstrip("¶#: ")) or heading
    parts = [part for part in _SEPARATOR.split(text) if part]
    while len(parts) > 1 and _SITE.search(parts[-1]):
        parts.pop()
    if len(parts) > 1 and _NAME_OF_CODE.match(_without_section(parts[0])):
        # "git-rebase - Reapply commits", "asyncio — Asynchronous I/O": a code name, then its description.
        parts = parts[1:]
    text = _without_section(" – ".join(parts))  # noqa: RUF001
    if is_shouted(text):
        return _lowered(text)
    # Glossaries write their terms in lower case, and so does code.
    return text[0].upper() + text[1:] if _PLAIN_WORDS.fullmatch(text) else text


def _without_section(text: str) -> str:
    """Returns the bare name of "git-rebase(1) Manual Page"."""
    page = _MAN_PAGE.match(text)
    if page is None:
        return text
    return page[1].lower() if page[1].isupper() else page[1]


def _lowered(text: str) -> str:
    """Returns "Configuration of TLS" for "CONFIGURATION OF TLS"."""
    words = [word if _is_acronym(word) else word.lower() for word in text.split()]
    lowered = " ".join(words)
    return lowered[:1].upper() + lowered[1:]


def _is_acronym(word: str) -> bool:
    letters = word.strip("()[],.:;")
    return letters in _ACRONYMS or (len(letters) <= _ACRONYM and _VOWEL.search(letters) is None)


def is_shouted(text: str) -> bool:
    """Whether a heading is all in capitals, and longer than an acronym."""
    return text.isupper() and len(text) > _ACRONYM


def is_of_a_manual(title: str) -> bool:
    """Whether a title belongs to a manual page, as "git-pull(1)"; such pages have section headings in capitals."""
    return _MAN_PAGE.match(title) is not None


def comparable(heading: str) -> str:
    return " ".join(words_of(re.sub(r"\([^)]*\)", "", heading)))


def is_descriptive(heading: str) -> bool:
    """Whether a heading describes its text in words."""
    words = comparable(heading).split()
    return (
        bool(words)
        and len(heading) <= MAX_HEADING
        and not _TELLS_NOTHING.issuperset(words)
        and _CODE.search(heading) is None
        and not heading.isupper()
        and heading[:1].isalnum()
    )


def is_book(title: str) -> bool:
    """Whether a title names a collection of many subjects, and so none of them."""
    return _BOOK.search(title) is not None


def is_glossary(title: str) -> bool:
    """Whether the page explains terms one by one."""
    return _GLOSSARY.search(title) is not None


def is_news(heading: str | None) -> bool:
    """Whether a heading announces news of one version, or plans."""
    return heading is not None and _NEWS.search(heading) is not None


def is_entry(heading: str | None) -> bool:
    """Whether a heading only labels an option or setting, as "--jobs=n" or "work_mem (integer)" does."""
    if heading is None or _ENTRY.search(" ".join(heading.split())) is None:
        return False
    words = heading.split()
    return not (
        len(words) >= _SENTENCE and words[0].istitle() and sum(map(str.isalpha, words)) >= _SENTENCE - 1
    )


def spelling(words: Sequence[str], texts: Iterable[str]) -> str | None:
    """Returns the most frequent spelling of a name in running text ("postgresql" → "PostgreSQL"); None if unknown.

    `words` are the name's words in lower case. Beginnings of sentences do not count.
    """
    name = r"[\W_]+".join(map(re.escape, words)) or r"(?!)"
    pattern = re.compile(rf"(?<=[\w,;:)] )\b{name}\b(?![\w-])", re.IGNORECASE)
    counts = Counter(match[0] for text in texts for match in pattern.finditer(text))
    return min(counts, key=lambda each: (-counts[each], each)) if counts else None


def capitalised(name: str, *, code: bool) -> str:
    """Capitalises a name for the beginning of a title; a name that sentences begin in lower case stays so."""
    return name if code or not name else name[0].upper() + name[1:]


def title_of(name: str, headings: Sequence[str], *, proper: AbstractSet[str], language: str) -> str:
    """Returns the title: the subject's name, and the article's aspects of it within 60 characters.

    `proper` are the words that the sources capitalise within a sentence.
    """
    if len(name) > MAX_TITLE:
        return cut(name, MAX_TITLE)
    own = set(stems_of(name))
    parts = [_as_part(each, proper) for each in headings if _fits_a_title(each, own)]
    parts = list(dict.fromkeys(parts))
    for count in range(min(len(parts), _MAX_PARTS), 0, -1):
        title = f"{name}: {_joined(parts[:count], language)}"
        if len(title) <= MAX_TITLE:
            return title
    return name


def _fits_a_title(heading: str, own: set[str]) -> bool:
    words = words_of(heading)
    return (
        _FEWEST_PART_WORDS <= len(words) <= _PART_WORDS
        # "Partition" adds nothing to "partitioning".
        and not any(
            each.startswith(word) or word.startswith(each) for each in own for word in stems_of(heading)
        )
        and not is_book(heading)
        and _STARTS_LOOSELY.match(heading) is None
        and _ANDS.isdisjoint(words)
        and all(map(_is_plain, heading.split()))
    )


# "On re-tagging", "notes on reproducibility" and "populating a database" are about less, or more, than the subject.
_STARTS_LOOSELY = re.compile(
    r"(?-i:[a-z])|(?:on|notes?|how|what|why|when|where|using|getting|further|other|some|more|feedback|discussion|problem|module|quick|"
    r"is|are|can|if|\w+ly|to)\b",
    re.IGNORECASE,
)


def _is_plain(word: str) -> bool:
    return (
        word.replace("-", "").isalpha() and "-" not in (word[0], word[-1]) and not _NAME_WITH_DASH.match(word)
    )


def _as_part(heading: str, proper: AbstractSet[str]) -> str:
    """Turns a heading into lower case except names and acronyms."""
    return " ".join(
        word if word in proper or any(map(str.isupper, word[1:])) else word.lower()
        for word in heading.split()
    )


def _joined(parts: Sequence[str], language: str) -> str:
    *first, last = parts
    conjunction = _AND.get(language.partition("-")[0].casefold())
    if not first:
        return last
    return f"{', '.join(first)} {conjunction} {last}" if conjunction else ", ".join(parts)


def cut(text: str, size: int) -> str:
    """Cuts a text to whole words, with an ellipsis."""
    if len(text) <= size:
        return text
    kept = text[: size - 1]
    return (kept.rpartition(" ")[0] if " " in kept else kept).rstrip(" ,;:–—-([") + "…"  # noqa: RUF001
