"""The keyword as a matcher: which sentences are on it, define it, or are headed by it. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.writing.article import Source
from orchestrator.writing.extractive.headings import capitalised, comparable, spelling, tidy
from orchestrator.writing.extractive.sentences import stems_of, words_of

COMMON_STEMS = frozenset(
    stems_of(
        "a an the of to in is are was were be been and or not for with by on at from as that which can may must will "
        "has have had do does it its than if when but you your more most one no this these how what why who up out"
    )
)
DEFINES: Final = 2.0
"""`definition` of a sentence that says what the keyword is."""
_IS = frozenset({"is", "are", "means", "refers", "denotes", "describes"})
_ARTICLES = frozenset({"a", "an", "the", "to", "one", "any", "when", "where"})
_ADVERBS = frozenset(
    {
        "simply",
        "basically",
        "essentially",
        "usually",
        "generally",
        "often",
        "also",
        "just",
        "really",
        "itself",
    }
)
_DOES = frozenset(
    "provides provide allows allow lets let uses use supports support consists enables enable helps help".split()  # noqa: SIM905
)
# "Hooks are programs" says what they are; "hooks are executed" and "hooks are useful" do not.
_NOT_WHAT = re.compile(
    r"(?:\w+(?:ed|ing|ly|able|ible|ful|ous|ive|less)|not|now|only|new|often|always|never|best|run|set|kept|made|done|in|on|at|"
    r"by|for|from|under|stored|given|found|read|written|built|so|as|more|most|very|quite|too|still|due|up|off|"
    r"subject|similar|necessary|different|important|free|ready|common|likely|part|full|safe|just|almost|both|either)"
)
# What may follow a name without making another of it: "a gitattributes file", "the reflog command".
_HEADS = frozenset(
    "file files command commands module statement statements mechanism feature format data type types process operation"  # noqa: SIM905
    " operations system daemon method technique expression expressions object objects facility".split()
)
_MAX_HEADS: Final = 2
_USED = frozenset("used useful designed meant intended performed done supported".split())  # noqa: SIM905
_SETTING = re.compile(r"^In (?!(?:this|that|these|those|such|which)\b)(?:[\w-]+ ){0,3}[\w-]+, ")
_ASKED = re.compile(
    r"^(?:how to (?:use|make) |how (?:do|does) |how |what (?:is|are) |why (?:do|does|is|are) |why |best |guide to |introduction to )"
    r"(?:an? |the )?|(?: works?| guide| tutorial| explained| basics)$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^()]{0,80}\)")


class Topic:
    """The keyword as a matcher."""

    def __init__(self, keyword: str, sources: Sequence[Source]) -> None:
        self.keyword = keyword
        self.stems = stems_of(keyword)
        # Who asks how cold brew works wants to be told first what cold brew is.
        subject = _ASKED.sub("", keyword).strip() or keyword
        self._subject = stems_of(subject)
        self._telling = frozenset(self.stems) - COMMON_STEMS or frozenset(self.stems)
        spelled = r"[\W_]+".join(map(re.escape, words_of(keyword))) or r"(?!)"
        # One or many of them: "index-only scans" is about an index-only scan.
        asked = r"[\W_]+".join(map(re.escape, words_of(subject))) or r"(?!)"
        inflected = rf"(?i:{re.sub('e?s$', '', asked)})(?:s|es)?"
        self._opens = re.compile(
            rf"(?:An? )?{inflected}"
            r"(?:,| (?:can|may|must|will|has|have|does|do|works?|requires?|behaves?|happens?|typically|usually|often)\b)"
        )
        self._use = re.compile(rf"Use (?:\w+ ){0, 2}{inflected}(?: \w+)? (?:when|to|if|for)\b")
        # "Pour-over is a method" says what pour-over coffee is.
        shortened = r"[\W_]+".join(map(re.escape, words_of(subject)[:-1])) or r"(?!)"
        self._opens_in_short = re.compile(rf"(?:An? |The )?(?i:{shortened}) (?:is|are) (?:an?|the)\b")
        # "Partitioning refers to splitting a table" does so for table partitioning, on a page about that.
        last = "".join(map(re.escape, words_of(subject)[-1:])) or r"(?!)"
        self._opens_by_last = re.compile(
            rf"(?:An? |The )?(?i:{last}) (?:(?:is|are) (?:an?|the)|refers? to|means)\b"
        )
        self._explained = re.compile(rf"{inflected},? (?:which|whose)\b")
        self._abbreviation = self._introduced_abbreviation(spelled, sources)
        self.word = self._spelled(sources)
        texts = [passage.text for source in sources for passage in source.passages]
        begins = re.compile(rf"(?:^|[.!?] ){re.escape(self.word)} \w")
        code = "_" in self.word or (" " not in self.word and any(map(begins.search, texts)))
        self.name = capitalised(self.word, code=code)
        """As the beginning of a title; `word` is how it is written in a sentence."""

    def _introduced_abbreviation(self, spelled: str, sources: Sequence[Source]) -> re.Pattern[str] | None:
        """The short name that a source introduces, as in "Write-Ahead Logging (WAL)"."""
        initials = "".join(word[0] for word in words_of(self.keyword)).upper()
        introduction = re.compile(rf"(?i:{spelled})\s*\({re.escape(initials)}\)")
        texts = (text for source in sources for text in (source.title, *(p.text for p in source.passages)))
        if len(initials) < 2 or not any(introduction.search(text) for text in texts):  # noqa: PLR2004
            return None
        return re.compile(rf"\b{re.escape(initials)}\b")

    def _spelled(self, sources: Sequence[Source]) -> str:
        """The keyword as the sources spell it ("postgresql" → "PostgreSQL")."""
        # Who asked may write it with capitals, and has reasons.
        if any(map(str.isupper, self.keyword)):
            return self.keyword
        words = words_of(self.keyword)
        texts = [passage.text for source in sources for passage in source.passages]
        name = spelling(words, texts) or spelling(words, (f", {tidy(source.title)}" for source in sources))
        return self.keyword if name is None else " ".join(name.split())

    def share(self, text: str) -> float:
        """Part (0..1) of the keyword's telling words that occur."""
        if self._abbreviation and self._abbreviation.search(text):
            return 1.0
        found = self._telling.intersection(stems_of(text))
        return len(found) / len(self._telling) if self._telling else 0.0

    def has_phrase(self, text: str) -> bool:
        if self._abbreviation and self._abbreviation.search(text):
            return True
        return _place(self.stems, stems_of(text)) is not None

    def named_by(self, heading: str | None) -> float:
        """0 if the heading lacks a word of the keyword; otherwise the more, the less else it has (up to 1)."""
        if heading is None or self.share(heading) < 1:
            return 0.0
        words = [word for word in words_of(comparable(tidy(heading))) if word not in COMMON_STEMS]
        return min(1.0, 0.4 + 0.6 * len(self._telling) / max(len(words), 1))

    def is_term(self, heading: str | None) -> bool:
        """Whether a heading is the keyword and nothing else, as in a glossary."""
        return (
            heading is not None
            and heading[:1].isalnum()
            and stems_of(_ASIDE.sub("", heading)) == self._subject
        )

    def definition(self, text: str, *, named: bool = False) -> float:
        """How much a sentence defines the keyword itself, and not a longer noun, from 0 to 3.

        3 "X is a …", 2.5 "X are things …", 2 "… called X" and "… X, which …", 1 "X provides …", a little less any other
        sentence with X for its subject. `named`: it stands under the keyword, so that the last word may do for all.
        """
        text = _SETTING.sub("", _ASIDE.sub("", text))
        text = text[:1].upper() + text[1:]
        found = self._definition(words_of(text), stems_of(text))
        if found is not None:
            return found
        if self._use.match(text):
            return 1.0
        if self._opens.match(text):
            return 0.8
        if self._explained.search(text) or (named and self._opens_by_last.match(text)):
            return DEFINES
        return 1.8 if self._opens_in_short.match(text) else 0.0

    def _definition(self, words: tuple[str, ...], stems: tuple[str, ...]) -> float | None:
        at = _place(self._subject, stems)
        if at is None:
            return None
        opening = words[:at]
        after = words[at + len(self._subject) :]
        if opening in ((), ("a",), ("an",), ("the",)):
            return _predicate(after)
        if opening[-1:] in (("called",), ("named",), ("termed",)) or opening[-2:] in (
            ("known", "as"),
            ("to", "as"),
        ):
            # "… known as hook scripts" names something else.
            return DEFINES if not after or after[0] in COMMON_STEMS else 0.0
        return None


def _place(wanted: tuple[str, ...], stems: tuple[str, ...]) -> int | None:
    """Where the stems stand side by side, first."""
    size = len(wanted)
    return next((at for at in range(len(stems) - size + 1) if size and stems[at : at + size] == wanted), None)


def _predicate(after: tuple[str, ...]) -> float | None:
    """What follows the keyword as a subject: that it is something, or that it does something."""
    heads = 0
    while after and (after[0] in _ADVERBS or (after[0] in _HEADS and heads < _MAX_HEADS)):
        heads += after[0] in _HEADS
        after = after[1:]
    if not after:
        return None
    if after[0] in _IS and len(after) > 1:
        if after[1] in _ADVERBS:
            # "Is often a good choice" says less of what it is.
            return 1.2
        if after[1] in _ARTICLES or after[0] in {"refers", "means", "denotes"}:
            return 3.0
        if _NOT_WHAT.fullmatch(after[1]):
            return 0.9 if after[1] in _USED else 0.0
        return 2.5
    return 1.0 if after[0] in _DOES else None


def clean(text: str) -> str:
    return " ".join(text.replace("\0", "").split())
