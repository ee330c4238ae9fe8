"""Titles and headings as a person would write them. Pure."""

import re
from collections import Counter
from collections.abc import Container, Sequence
from typing import Final

from documents.words import bare_title, stems_of, telling_stems, words_of
from writing.article import MAX_TITLE
from writing.quality.measures import MAX_HEADING

# A word of this many capitals is an acronym, even in a heading that is all capitals.
_ACRONYM: Final = 4
_ACRONYM_WITHOUT_VOWELS: Final = 6
# A short word in capitals with a vowel is an acronym only if the list has it.
_ACRONYMS: Final = frozenset(
    "ACID ACL AES AI API APIS ASCII AWS CA CIDR CLI CPU EOF EU GID GPU GUI HEAD ID IDE IDS IMAP IO IOT IP IPC ISO IT JSON LAN LUKS NAS"  # noqa: SIM905
    " NAT NUMA OAUTH OIDC OS PAM PID POSIX RAID RAM REST ROM SAML SASL SATA SOAP UDP UEFI UI UID UK UML UNIX UPS URI URL URLS US USA"
    " USB UTC UTF-8 UUID UX VAT VLAN WAL WAN YAML".split()
)
_VOWEL: Final = re.compile(r"[AEIOUY]")
_SEPARATOR: Final = re.compile(r"\s+(?:[–—|·•»]|::|--?)\s+")  # noqa: RUF001 - the dashes between title and site
_SITE: Final = re.compile(
    r"\b(?:documentation|docs|manual|handbook|reference|wiki(?:pedia)?|blog|help|guide|tutorial|home ?page|website|faq|"
    r"developers?|official site|v?\d+(?:\.\d+)+)\b|\.(?:org|com|net|io|dev)\b",
    re.IGNORECASE,
)
_PLAIN_WORDS: Final = re.compile(r"[a-z]{2,}(?:[ -][a-z]{2,})*")
_LOWER_WORDS: Final = re.compile(r"[a-z]+(?:[ -][a-z]+)*")
_NAME_OF_CODE: Final = re.compile(r"^[a-z][a-z0-9_.+:-]*$")
_CALL: Final = re.compile(r"^(?:[^=(]{1,60}=\s*)?([\w.:]+)\s*\(.*\)\s*;?$")
# "\\dot [caption]", "--lock-wait [SECONDS]": a name of code with its arguments.
_SYNTAX: Final = re.compile(
    r"([\\@$-][\w-]{2,40}|(?=[A-Za-z]\w*?[_.:])[A-Za-z][\w.:]{1,60}(?<=[A-Za-z0-9]))\s*[\[<({'\"=].*"
)
# "[static] ", "template <typename T> ": what stands before the type in a declaration.
_MARK: Final = re.compile(r"\[[a-z ]{1,30}\]\s*|\((?:obsolete|preliminary)\)\s*")
_TYPED: Final = re.compile(r"^template\b|::|[*&]")
_DECLARED: Final = re.compile(r"(?:\w+::)*(?:operator\W{1,3}|~?\w+)$")
# "Step 1: Deductions list", "Example: Buying shares": the place in a series.
_STEP: Final = re.compile(
    r"^(?:step|part|stage|phase|lesson|exercise) \d{1,2}(?:[:.]| ?[–—-])\s+(?=\w)",  # noqa: RUF001 - dashes
    re.IGNORECASE,
)
# "3 - Documentation", "Metadata (#1542)", "Using the generator."
_NUMBER: Final = re.compile(r"^\d+(?:\.\d+)*\s*[–—-]\s+(?=\D)")  # noqa: RUF001 - a dash
_TICKET: Final = re.compile(r"\s*\(#\d+\)")
_CHANGE: Final = re.compile(
    r"\(#\d+\)|^(?:release notes?|change ?log|what[’']s new.{0,40})$|^(?:version )?v?\d+\.\d+(?:\.\d+)*(?: \(.*\))?$",  # noqa: RUF001
    re.IGNORECASE,
)
_CONTINUES: Final = re.compile(
    r"(?:other|another|more|further|additional|remaining|miscellaneous|next steps?|putting it all together)\b(?! than\b)",
    re.IGNORECASE,
)
_FULL_STOP: Final = re.compile(r"(?:(?<=[a-z]{4})|(?<=\)))\.$")
# Where a long title may end.
_LAST_BRACKET: Final = re.compile(r"\s*\([^()]*\)$")
_PHRASE: Final = re.compile(r"(?:\s[–—]|:)\s|,? (?:with|in|on|by|for|from|using|through|when|if|and|or|of)\s")  # noqa: RUF001
MIN_TITLE_WORDS: Final = 3
# Titles that only their page tells apart.
_GENERAL: Final = frozenset(
    stems_of(
        "configuring configure setup installing install using use running run creating adding managing building testing "
        "implementing preparing adapting changing updating manually automatically basic basics advanced simple complete full "
        "example concrete procedure recommended principle principles mechanism mechanisms purpose operation methods theory practice step steps problem problems test tests restriction "
        "restrictions drawback drawbacks requirement requirements limitation limitations rule rules structure layout results "
        "server client side system feature features main key security tools quick start getting started contributing "
        "synopsis module modules parameter parameters action input output legacy description statement statements directive directives specific internals development deployment support usage administration customization customizing troubleshooting background architecture design special topics "
        "table tables list lists link links image images comment comments variable variables function functions data type types interface example examples "
        "introduction overview concepts notes additional general other considerations options settings file files format formats frequently asked questions faq "
    )
)
MAX_GENERAL: Final = 3
MIN_NAMED_IN: Final = 3
"""Texts that name a work."""
MIN_USES: Final = 5
"""The times that one or two texts name it."""
# The capital comes first, and what is before it second: a pattern that begins with a set of characters is found sooner.
_NAME_WITHIN: Final = re.compile(r"[A-Z](?<=[a-z,] [A-Z])[A-Za-z]{0,20}[a-z](?=[ ,.;:)’'])")  # noqa: RUF001


def tidy(heading: str) -> str:
    """Strips numbers, site names, manual sections and link marks; turns all capitals into a normal spelling."""
    text = bare_title(_NUMBER.sub("", heading.replace("\0", "").rstrip("¶#: "))) or heading
    if name := declared_name(text):
        return name
    text = _STEP.sub("", text)
    text = _FULL_STOP.sub("", _TICKET.sub("", text).rstrip()) or text
    if (syntax := _SYNTAX.fullmatch(text)) is not None:
        return syntax[1]
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


def declaration(title: str) -> str:
    """Returns a declaration without marks before it, such as "[static]"."""
    mark = _MARK.match(title)
    return title[mark.end() :] if mark and "(" in title[mark.end() :] else title


def declared_name(title: str) -> str:
    """Returns "Kiln::fire" of "[static] double Kiln::fire(const Clay &clay)"; "" if a title is no declaration."""
    text = declaration(title)
    before, bracket, _ = text.partition("(")
    if not bracket or not _TYPED.search(text) or "[" in before.partition("operator")[0]:
        return ""
    name = _DECLARED.search(before)
    return name[0] if name and (name.start() or "::" in name[0]) else ""


def heading_of(title: str, *, is_entry: bool) -> str:
    """Returns a section's heading in an article; that of an entry is its name without arguments."""
    call = _CALL.match(title)
    if is_entry:
        return cut(call[1] if call else title, MAX_HEADING)
    text = tidy(title)
    return shortened(text[:1].upper() + text[1:] if _PLAIN_WORDS.fullmatch(text) else text, MAX_HEADING)


def work_name(texts: Sequence[str]) -> str:
    """Returns the name that most texts of a work speak of, within their sentences; "" without one."""
    found = [Counter(_NAME_WITHIN.findall(text)) for text in texts]
    every = Counter(name for each in found for name in each)
    uses = sum(found, Counter[str]())
    often = [
        name
        for name, count in every.items()
        if count * 2 > len(texts) and (count >= MIN_NAMED_IN or uses[name] >= MIN_USES)
    ]
    return max(often, key=lambda name: (every[name], uses[name], name), default="")


def article_title(
    keyword: str,
    title: str,
    *,
    is_entry: bool,
    page: str = "",
    names: Container[str] = frozenset(),
    work: str = "",
) -> str:
    """Returns the title of the page, or section, if it is the keyword; else the keyword. Names of code keep their case.

    A name of code, and a title that any page may have, such as "Principles", get what they belong to in brackets.

    Args:
        keyword: as it was asked for.
        title: of the page or section.
        is_entry: whether it is an entry of a list of functions or settings.
        page: the title of the page that a section stands on.
        names: the names of code of the section and those below it.
        work: the name of what the page is about, if it is known.
    """
    own = heading_of(title, is_entry=True) if is_entry else tidy(title)
    is_own = telling_stems(own) == telling_stems(keyword) or own.casefold() == tidy(keyword).casefold()
    # "Postfix manual - postkick": a page's name, as it is typed.
    is_name = keyword in names or (
        keyword != bare_title(title) and keyword in _SEPARATOR.split(bare_title(title))
    )
    if is_own:
        named = own
    elif is_name or not _LOWER_WORDS.fullmatch(keyword):
        named = keyword if is_name else tidy(keyword)
    else:
        named = keyword[:1].upper() + keyword[1:]
    place = _product(title, own) if is_own and not page else tidy(page or title)
    is_code = (
        declared_name(title)
        or _SYNTAX.fullmatch(title)
        or _SYNTAX.fullmatch(keyword)
        or is_entry
        or is_name
        or _NAME_OF_CODE.match(named)
    )
    is_common = _is_general(named)
    if is_entry or (is_common and (not page or _is_general(tidy(page)))):
        place = work or (place if page else "")
    if not place or not (is_code or is_common):
        return shortened(named, MAX_TITLE)
    placed = f"{named} ({place})"
    is_told = frozenset(telling_stems(named)) & frozenset(telling_stems(place))
    return shortened(named, MAX_TITLE) if is_told or len(placed) > MAX_TITLE else placed


def _product(title: str, name: str) -> str:
    """Returns "Postfix" of "Postfix manual - virtual(5)", whose name is "virtual"."""
    parts = [part for part in _SEPARATOR.split(title) if bare_title(part) != name]
    return _SITE.sub("", parts[0]).strip(" ()") if len(parts) == 1 and _SITE.search(parts[0]) else ""


def _is_general(title: str) -> bool:
    """Whether a title says nothing of its subject: one common word, or words that are in titles of any subject."""
    stems = telling_stems(title)
    return len(stems) <= MAX_GENERAL and _GENERAL.issuperset(stems)


def shortened(text: str, size: int) -> str:
    """Returns a title that is not longer, without its last bracket or phrase where that is enough."""
    if len(text) > size:
        text = _LAST_BRACKET.sub("", text)
    if len(text) > size:
        ends = [each.start() for each in _PHRASE.finditer(text, 0, size + 1)]
        whole = [text[:end] for end in ends if len(text[:end].split()) >= MIN_TITLE_WORDS]
        text = whole[-1] if whole else text
    return cut(text, size)


def cut(text: str, size: int) -> str:
    """Cuts a text to whole words, with an ellipsis."""
    if len(text) <= size:
        return text
    kept = text[: size - 1]
    return (kept.rpartition(" ")[0] if " " in kept else kept).rstrip(" ,;:–—-([") + "…"  # noqa: RUF001


def is_change(title: str) -> bool:
    """Whether a title is that of a change log, or a line of one: "Metadata added (#1542)", "Version 1.2"."""
    return _CHANGE.search(title) is not None


def continues(title: str) -> bool:
    """Whether a title names the rest of what another one began: "Other fuzzers", "More on glazes"."""
    return _CONTINUES.match(title) is not None


def comparable(heading: str) -> str:
    return " ".join(words_of(re.sub(r"\([^)]*\)", "", heading)))


def _lowered(text: str) -> str:
    """Returns "Configuration of TLS" for "CONFIGURATION OF TLS"."""
    words = [word if _is_acronym(word) else word.lower() for word in text.split()]
    lowered = " ".join(words)
    return lowered[:1].upper() + lowered[1:]


def _is_acronym(word: str) -> bool:
    letters = word.strip("()[],.:;")
    return letters in _ACRONYMS or (
        len(letters) <= _ACRONYM_WITHOUT_VOWELS and _VOWEL.search(letters) is None
    )


def _is_shouted(text: str) -> bool:
    """Whether a heading is all in capitals, longer than an acronym, and no name of code."""
    return text.isupper() and len(text) > _ACRONYM and "_" not in text
