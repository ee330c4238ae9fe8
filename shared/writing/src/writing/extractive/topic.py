"""Matches text against the keyword: sentences and headings about it, and definitions of it. Pure."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from writing.article import ArticleSource
from writing.extractive.headings import capitalised, comparable, is_shouted, spelling, tidy
from writing.extractive.sentences import stem, stems_of, words_of

COMMON_STEMS = frozenset(
    stems_of(
        "a an the of to in is are was were be been and or not for with by on at from as that which can may must will "
        "has have had do does it its than if when but you your more most one no this these how what why who up out"
    )
)
DOES: Final = 1.0
"""The value of `definition` for a sentence that says what the keyword does."""
IS_SO: Final = 2.5
"""The value for a definition without an article, as "Hooks are programs that …"."""
DEFINES: Final = 2.0
"""The value of `definition` for a sentence that says what the keyword is."""
_IS = frozenset({"is", "are", "means", "refers", "denotes", "describes"})
_ARTICLES = frozenset({"a", "an", "the", "to", "one", "any", "when", "where"})
_ADVERBS = frozenset(
    {
        "usually",
        "generally",
        "often",
        "also",
        "itself",
    }
)
_PLAINLY = frozenset({"simply", "basically", "essentially", "just", "really"})
_DOES = frozenset(
    "provides provide allows allow lets let uses use supports support consists enables enable helps help".split()  # noqa: SIM905
)
# "Hooks are programs" says what they are; "hooks are executed" and "hooks are useful" do not.
_NOT_WHAT = re.compile(
    r"(?:\w+(?:ed|ing|ly|able|ible|ful|ous|ive|less)|not|now|only|new|often|always|never|best|run|set|kept|made|done|in|on|at|"
    r"by|for|from|under|stored|given|found|read|written|built|so|as|more|most|very|quite|too|still|due|up|off|"
    r"subject|similar|necessary|different|important|free|ready|common|likely|part|full|safe|just|almost|both|either)"
)
# Words that may follow a name without changing it: "a gitattributes file", "the reflog command".
_HEADS = frozenset(
    "file files command commands module statement statements mechanism feature facility data".split()  # noqa: SIM905
)
_ARTICLE: Final = frozenset({(), ("a",), ("an",), ("the",), ("this",), ("each",), ("any",)})
_MAX_HEADS: Final = 2
_MIN_DEED: Final = 3
_FOREMOST: Final = 2
_SHORT: Final = 16
# Words that may precede a name without changing it.
_BEFORE: Final = frozenset(
    {(), ("a",), ("an",), ("the",)}
    | {
        (article, noun)
        for article in ("a", "the")
        for noun in ("term", "word", "phrase", "command", "module", "concept")
    }
)
# "VACUUM reclaims the storage" says what it does, "hook scripts live in a folder" does not.
_DEED = re.compile(
    r"(?!(?:does|goes|has|was|is|its|this|thus|always|sometimes|perhaps|needs|comes|seems|looks|remains)$)[a-z]{3,}[^\Wsui]s"
)
_OBJECT: Final = frozenset("a an the all any every each one your some how what which whether that".split())  # noqa: SIM905
_USED = frozenset("used useful designed meant intended".split())  # noqa: SIM905
_SETTING = re.compile(r"^In (?!(?:this|that|these|those|such|which)\b)(?:[\w-]+ ){0,3}[\w-]+, ")
_ASKED = re.compile(
    r"^(?:how to (?:use|make) |how (?:do|does) |how |what (?:is|are) |why (?:do|does|is|are) |why |best |guide to |introduction to )"
    r"(?:an? |the )?|(?: works?| guide| tutorial| explained| basics)$",
    re.IGNORECASE,
)
# Words that narrow the first thing of a phrase.
_ADDED: Final = re.compile(
    r"\b(?:that|which|who|whose|where|when|under|for|in|on|to|from|by|with|\w{3,}ing)\b|\b(?<!list )(?<!lists )(?<!example )of\b"
)
_CALL = re.compile(r"\w+\(")
_ASIDE = re.compile(r"\s*\([^()]{0,80}\)|, or [^,.;:]{1,60},|, also (?:called|known as) [^,.;:]{1,60},")


class Topic:
    """Matches sentences and headings against the keyword."""

    def __init__(self, keyword: str, sources: Sequence[ArticleSource]) -> None:
        self.keyword = keyword
        # Ranking matches the same sentences and headings many times.
        self._shares: dict[str, float] = {}
        self._named: dict[str, float] = {}
        self._definitions: dict[tuple[str, bool], float] = {}
        self.stems = stems_of(keyword)
        # A reader of "how cold brew works" first needs to know what cold brew is.
        subject = _ASKED.sub("", keyword).strip() or keyword
        self._subject = stems_of(subject)
        # A lower-case text without any of these does not concern the subject.
        self._needles = _needles(words_of(subject))
        self._telling = frozenset(self.stems) - COMMON_STEMS or frozenset(self.stems)
        spelled = r"[\W_]+".join(map(re.escape, words_of(keyword))) or r"(?!)"
        # Singular or plural: "index-only scans" is about an index-only scan.
        asked = r"[\W_]+".join(map(re.escape, words_of(subject))) or r"(?!)"
        inflected = rf"(?i:{re.sub('e?s$', '', asked)})(?:s|es)?"
        self._opens = re.compile(
            rf"(?:An? )?{inflected}"
            r"(?:,| (?:can|may|must|will|has|have|does|do|works?|requires?|behaves?|happens?|typically|usually|often)\b)(?! also\b)"
        )
        self._use = re.compile(rf"Use (?:\w+ ){{0,2}}{inflected}(?: \w+)? (?:when|to|if|for)\b")
        # "Pour-over is a method" defines pour-over coffee, too.
        shortened = r"[\W_]+".join(map(re.escape, words_of(subject)[:-1])) or r"(?!)"
        self._opens_in_short = re.compile(rf"(?:An? |The )?(?i:{shortened}) (?:is|are) (?:an?|the)\b")
        # "Partitioning refers to splitting a table" defines table partitioning on a page about it.
        last = "".join(map(re.escape, words_of(subject)[-1:])) or r"(?!)"
        self._opens_by_last = re.compile(
            rf"(?:An? |The )?(?i:{last}) (?:(?:is|are) (?:an?|the)|refers? to|means)\b"
        )
        # "Hooks which fail" are some of them; "hooks, which run before a commit," are all.
        self._explained = re.compile(
            rf"(?<!-)\b\w+ {inflected}, (?:which|whose|wherein|where|in which|that is,)(?= )"
        )
        self._essence = re.compile(
            r"The (?:\w+ ){0,2}(?:idea|goal|purpose|aim|point|principle|concept|task|role|advantage|benefit|building block)s? "
            rf"(?:of|behind) (?:an? |the )?{inflected} (?:is|are)\b"
        )
        self._abbreviation = self._introduced_abbreviation(spelled, sources)
        self.word = self._spelled(sources)
        texts = [passage.text for source in sources for passage in source.passages]
        begins = re.compile(rf"(?:^|[.!?] ){re.escape(self.word)} \w")
        code = "_" in self.word or (" " not in self.word and any(map(begins.search, texts)))
        self.name = capitalised(self.word, code=code)
        """The name at the beginning of a title; `word` is its form within a sentence."""

    def _introduced_abbreviation(
        self, spelled: str, sources: Sequence[ArticleSource]
    ) -> re.Pattern[str] | None:
        """Returns the abbreviation that a source introduces, as in "Write-Ahead Logging (WAL)"."""
        initials = "".join(word[0] for word in words_of(self.keyword)).upper()
        introduction = re.compile(rf"(?i:{spelled})\s*\({re.escape(initials)}\)")
        texts = (text for source in sources for text in (source.title, *(p.text for p in source.passages)))
        # Most texts have no such brackets: check that first.
        told = (f"({initials})" in text and introduction.search(text) for text in texts)
        if len(initials) < 2 or not any(told):  # noqa: PLR2004
            return None
        return re.compile(rf"\b{re.escape(initials)}\b")

    def _spelled(self, sources: Sequence[ArticleSource]) -> str:
        """Returns the keyword as the sources spell it ("postgresql" → "PostgreSQL")."""
        # Keep capitals that the caller uses.
        if any(map(str.isupper, self.keyword)):
            return self.keyword
        words = words_of(self.keyword)
        texts = [passage.text for source in sources for passage in source.passages]
        name = spelling(words, texts) or spelling(words, (f", {tidy(source.title)}" for source in sources))
        return self.keyword if name is None else " ".join(name.split())

    def share(self, text: str) -> float:
        """Returns the share (0..1) of the keyword's significant words that occur."""
        if (known := self._shares.get(text)) is None:
            known = self._shares[text] = self._share(text)
        return known

    def _share(self, text: str) -> float:
        if self._abbreviation and self._abbreviation.search(text):
            return 1.0
        found = self._telling.intersection(stems_of(text))
        return len(found) / len(self._telling) if self._telling else 0.0

    def has_phrase(self, text: str) -> bool:
        if self._abbreviation and self._abbreviation.search(text):
            return True
        return _place(self.stems, stems_of(text)) is not None

    def named_by(self, heading: str | None) -> float:
        """Returns 0 if the heading lacks a word of the keyword; otherwise up to 1, less for each other word."""
        if heading is None:
            return 0.0
        if (known := self._named.get(heading)) is None:
            known = self._named[heading] = self._named_by(heading)
        return known

    def _named_by(self, heading: str) -> float:
        if self.share(heading) < 1:
            return 0.0
        words = [word for word in words_of(comparable(tidy(heading))) if word not in COMMON_STEMS]
        return min(1.0, 0.4 + 0.6 * len(self._telling) / max(len(words), 1))

    def is_term(self, heading: str | None) -> bool:
        """Whether a heading is exactly the keyword, as in a glossary."""
        if heading is None or not heading[:1].isalnum() or is_shouted(heading) > is_shouted(self.keyword):
            # "MIDDLEWARE" is a setting.
            return False
        return stems_of(_without_asides(heading)) == self._subject

    def is_name(self, name: str) -> bool:
        """Whether a page's name is the keyword, maybe after a word for its owner, as in "git bisect".

        "ALTER SEQUENCE" is a statement, and no sequence.
        """
        stems = stems_of(name)
        return self._subject in {stems, stems[1:] if not name.isupper() else stems}

    def is_circular(self, phrase: str) -> bool:
        """Whether an explanation of the keyword names it first, as "A list of all hooks" does."""
        head = _ADDED.split(phrase, maxsplit=1)[0]
        return _place(self._subject, stems_of(head)) is not None

    def is_foremost(self, text: str) -> bool:
        """Whether a sentence has the keyword at its beginning, or is short and has it at its end, and so is about it."""
        words, stems = words_of(text), stems_of(text)
        at = _place(self.stems, stems)
        if at is None or text.endswith(":"):
            return False
        end = at + len(self.stems)
        if end == len(stems):
            return len(stems) <= _SHORT
        before = zip(words[:at], stems[:at], strict=True)
        # "Making backups is …", but not "Filter functions are …".
        begins = all(stem in COMMON_STEMS or word.endswith("ing") for word, stem in before)
        goes_on = (
            stems[end] in COMMON_STEMS or words[end] in _HEADS or _DEED.fullmatch(words[end]) is not None
        )
        return begins and at <= _FOREMOST and goes_on

    def definition(self, text: str, *, named: bool = False) -> float:
        """Returns how well a sentence defines the keyword itself, and not a longer noun, from 0 to 3.

        3 "X is a …", 2.5 "X are things …", 2 "… called X" and "… X, which …", 1 "X provides …", a little less any other
        sentence with X for its subject. `named`: it is under a heading with the keyword, so that the last word suffices.
        """
        if (known := self._definitions.get((text, named))) is None:
            known = self._definitions[text, named] = self._worth(text, named=named)
        return known

    def _worth(self, text: str, *, named: bool) -> float:
        if _CALL.match(text):
            return 0.0
        text = _SETTING.sub("", _without_asides(text))
        text = text[:1].upper() + text[1:]
        if text.isascii() and not any(map(text.lower().__contains__, self._needles)):
            return 0.0
        found = self._definition(text, named=named)
        if found is not None:
            return found
        told = ((self._essence, 1.5), (self._use, DOES), (self._opens, 0.8))
        if (worth := next((worth for pattern, worth in told if pattern.match(text)), None)) is not None:
            return worth
        if self._explained.search(text) or (named and self._opens_by_last.match(text)):
            return DEFINES
        return 1.8 if self._opens_in_short.match(text) else 0.0

    def _definition(self, text: str, *, named: bool) -> float | None:
        at = _place(self._subject, stems_of(text))
        if at is None:
            return None
        words = words_of(text)
        opening = words[:at]
        after = words[at + len(self._subject) :]
        if opening in _BEFORE:
            found = _predicate(after)
            if found is None and named and _does(after):
                # On another page, "hook scripts" and the like may look like a verb.
                return 0.9
            # "The kiln is cold" says how it is.
            return 0.0 if found == IS_SO and opening == ("the",) and after[0] == "is" else found
        # "The named tag must not exist" names nothing.
        is_called = opening[-1:] in (("called",), ("named",), ("termed",)) and opening[-2:-1] not in _ARTICLE
        if is_called or opening[-2:] in (
            ("known", "as"),
            ("to", "as"),
        ):
            # "… known as hook scripts" names something else.
            return DEFINES if not after or after[0] in COMMON_STEMS else 0.0
        return None


def _needles(subject: Sequence[str]) -> tuple[str, ...]:
    """Returns the beginnings that all forms of the first and last word share; only for ASCII words."""
    ends = dict.fromkeys((*subject[:1], *subject[-1:]))
    return tuple(_beginning(re.sub("e?s$", "", word), stem(word)) if word.isascii() else "" for word in ends)


def _beginning(one: str, other: str) -> str:
    """Of both."""
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _without_asides(text: str) -> str:
    # Most texts have none: check that first.
    return _ASIDE.sub("", text) if "(" in text or ", or " in text or ", also " in text else text


def _place(wanted: tuple[str, ...], stems: tuple[str, ...]) -> int | None:
    """Returns the first position of the stems side by side."""
    if not wanted or wanted[0] not in stems:
        return None
    size, at = len(wanted), -1
    while wanted[0] in stems[at + 1 :]:
        at = stems.index(wanted[0], at + 1)
        if stems[at : at + size] == wanted:
            return at
    return None


def _predicate(after: tuple[str, ...]) -> float | None:
    """Rates the predicate of the keyword: its nature, or its action."""
    heads = 0
    while after and (after[0] in _ADVERBS or (after[0] in _HEADS and heads < _MAX_HEADS)):
        heads += after[0] in _HEADS
        after = after[1:]
    if not after:
        return None
    if after[0] in _IS and len(after) > 1:
        return _complement(after[0], after[2:] if after[1] in _PLAINLY and len(after) > 2 else after[1:])  # noqa: PLR2004
    return 1.0 if after[0] in _DOES else None


def _complement(verb: str, what: tuple[str, ...]) -> float:
    """Rates how much the words after "is" or "means" say about a thing."""
    if len(what) == 1:
        # "The cache is empty."
        return 0.0
    if what[0] in _ADVERBS:
        # "Is often a good choice" says less of what it is.
        return 1.2
    if what[0] in _ARTICLES or verb in {"refers", "means", "denotes"}:
        return 3.0
    if _NOT_WHAT.fullmatch(what[0]):
        return 0.9 if what[0] in _USED else 0.0
    return IS_SO


def _does(after: tuple[str, ...]) -> bool:
    """Whether a verb with an object follows the keyword: "VACUUM reclaims the storage …"."""
    if after[:1] and after[0] in _HEADS:
        after = after[1:]
    return len(after) > _MIN_DEED and _DEED.fullmatch(after[0]) is not None and after[1] in _OBJECT


def clean(text: str) -> str:
    return " ".join(text.replace("\0", "").split())
