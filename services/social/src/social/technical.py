"""Decides which sentences of a manual can be read in a feed. Pure.

A page about a program explains its parts to those who have read the pages before. Of such a page, a post says only what names the
program and tells why it matters. The rules look at the form of sentences, and at words that all manuals share; they are for English.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import regex

_CODE: Final = re.compile(
    r"[_\\=<>{}|#]|\w://|\$(?!\d)|(?<![\w-])--\w|---|~~|\w\(|/\w+/|\./\w|[a-z]\d[A-Z]|\b[a-z]\w+\.[a-z]\w+"
    r"|\b[a-z][\w-]*\.(?:c|conf|css|exe|h|html?|ini|js|json|mjs|py|sh|so|toml|txt|xml|ya?ml)\b|\b[A-Z]{3,}[._][A-Za-z]"
    r"|\[\d+\]|\(\d+,\s?\d|[A-Za-z]::?[A-Za-z]|(?<![\w’'])'[\w.-]+'|\b[a-z]{2,}(?:[A-Z][a-z]+)+\b|\b[A-Z][a-z]+(?:[A-Z]+[a-z]+){2,}\b"  # noqa: RUF001
)
_MAYBE_CODE: Final = re.compile(r"[_\\=<>{}|#$/~(\[]|'[\w.-]+'|\.\w|:\S|[a-z\d][A-Z]|--[\w-]")
"""Each match of `_CODE` has one of these; most sentences have none, and take a twentieth of the time."""
_OF_PROGRAMS_ALONE: Final = regex.compile(
    r"\b(?:APIs?|CPUs?|DNS|GitHub|HTTPS?|IPv[46]|JavaScript|JSON|SMTP|SQL|SSH|TCP|Unix|XML|(?i:bug tracker|bytes?|callbacks?|codebases?|command[- ]lines?"
    r"|compilers?|daemons?|deadlocks?|debug\w*|drop-?downs?|executables?|file ?systems?|firewalls?|kernels?|log (?:entry|entries|files?)|malloc|operating systems?|plug-?ins?"
    r"|repos?|repositor(?:y|ies)|runtime|scripting|source code|stack traces?|syntax|toolbars?|\d+-bit)|\d{1,3}\.(?:\d{1,3}\.\d{1,3}|x))\b"
)
"""One of these words, or the number of a version, tells that a text is about a program."""
_MENU_STEP: Final = " → "
"""It leads through a menu, and tells the same."""
_OF_PROGRAMS: Final = regex.compile(
    r"\b(?:[A-Z]{5,}|HTML|Linux|(?i:applications?|arguments?|arrays?|authenticat\w+|binaries|boolean|configur\w+|data|databases?|dialogs?|director(?:y|ies)|editors?"
    r"|encrypt\w*|errors?|expressions?|files?|functions?|handles?|inputs?|instances?|interfaces?|librar(?:y|ies)|matri(?:x|ces)|modules?"
    r"|objects?|operators?|outputs?|packages?|parameters?|pixels?|pointers?|programs?|quer(?:y|ies)|scripts?|software|timestamps?|variables?"
    r"|vectors?))\b|(?P<camel>\b[A-Z][a-z]+[A-Z]\w*)"
)
"""Texts about programs have several of these words; those about bread and bicycles have one of them at most."""
_LEAST_SIGNS_OF_PROGRAMS: Final = 2
_PART: Final = regex.compile(
    r"\b(?:arguments?|arrays?|attributes?|bits?|bytes?|callbacks?|class(?:es)?|configur\w+|constants?|constructors?|directives?"
    r"|elements?|entr(?:y|ies)|errors?|events?|fields?|flags?|formats?|functions?|headers?|identifiers?|instances?|interfaces?|keys?|keywords?"
    r"|librar(?:y|ies)|macros?|methods?|modes?|modules?|names?|nodes?|objects?|options?|parameters?|pointers?|process(?:es)?|propert(?:y|ies)"
    r"|sections?|settings?|structs?|structures?|tables?|tags?|threads?|types?|values?|variables?|wrappers?)\b",
    regex.IGNORECASE,
)
"""A part of a program. What it does is of use only to those who know the program."""
_WORTH: Final = regex.compile(
    r"\b(?:able to|allows?|as \w+ as|at the heart|automatic(?:ally)?|avoids?|because|best|better|but|can(?:not|'t|’t| be used to|(?! be))|cheap\w*|common|despite"  # noqa: RUF001
    r"|designed (?:for|to)|detects?|doesn['’]t|easi(?:er|est|ly)|easy|enables?|even|faster|fast(?:est)?|finds?|free|helps?|important|instead|keeps?"  # noqa: RUF001
    r"|lets?|least|less|long(?:er|est)|makes? it|more|most|never|no|not|only|popular|possible|powerful|prevents?|protects?|quick\w*|rather than"
    r"|reduces?|safe\w*|saves|secur\w+|simpl(?:er|est|y|if\w+)|small(?:er|est)|supports|unless|way to|while|without|worse|worth)\b",
    regex.IGNORECASE,
)
"""It tells what somebody gains, or what is otherwise than expected."""
_INTRODUCES: Final = regex.compile(
    r"(?:The )?\p{Lu}\S*(?: [\w-]+)? is an? .{10,}? (?:that|which|for \w+ing|to \w+)\b"
)
"""It tells what the program is for."""
_PASSING: Final = regex.compile(
    r"\b(?:at (?:this|the) (?:time|moment|point)|by default|the default|current(?:ly)?|deprecated|earl(?:y|ier)|experimental|initial(?:ly)?|formerly|older|previous(?:ly)?|various|versions?|see|refer to|please|shown|described|documented|(?:the|this) documentation"
    r"|e\.g|i\.e|eg|ie|etc|et al|cf|in (?:this|the) (?:case|example)|this|these|those|there (?:is|are)|first off)\b|[;:]|\bthe (?:first|second|third|next|last)\b",
    regex.IGNORECASE,
)
"""It looks at other pages, other sentences, or a state that passes."""
_WORD: Final = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}.+'’-]*")  # noqa: RUF001
_POSSESSIVE: Final = ("'s", "’s")  # noqa: RUF001
_SENTENCE_ENDS: Final = (".", "!", "?", ":")
_FIRST_WORDS: Final = 5
"""Among these stands the one whom a sentence is about."""
_MOST_WORDS = 30
_LEAST_NAME: Final = 3


@lru_cache(maxsize=64)
def has_code(text: str) -> bool:
    """Whether a text has names, options or signs of a program, which tell readers of a feed nothing."""
    # A cache, since each channel asks about the same sentences.
    return _MAYBE_CODE.search(text) is not None and _CODE.search(text) is not None


def is_about_programs(texts: Iterable[str], titles: Iterable[str] = ()) -> bool:
    """Whether texts are about a program, rather than about what everybody knows. Of `titles`, a word in lower case is a name of code."""
    texts, titles = tuple(texts), tuple(titles)
    found = {
        "" if match["camel"] else match[0].casefold().removesuffix("s")
        for text in (*texts, *titles)
        for match in _OF_PROGRAMS.finditer(text)
    }
    # One such sign may be a word in quotation marks, or an address.
    signs = sum(map(has_code, texts))
    return (
        len(found) + signs >= _LEAST_SIGNS_OF_PROGRAMS
        or any(_MENU_STEP in text or _OF_PROGRAMS_ALONE.search(text) for text in (*texts, *titles))
        or any(has_code(title) or is_bare_name(title.partition(" (")[0]) for title in titles)
    )


def is_bare_name(title: str) -> bool:
    """Whether a title is a word in lower case, as of a function."""
    return title.isascii() and title.isalnum() and title.islower()


def proper_names(texts: Iterable[str], titles: Iterable[str]) -> frozenset[str]:
    """Returns the names of programs: words with a capital inside a sentence, of which a title or two of the texts speak.

    In titles with capitals throughout, a capital tells nothing; the word before the colon of a title is a name.
    """
    texts, titles = dict.fromkeys(texts), dict.fromkeys(titles)
    found = {name for text in texts for name in _names_inside(text)}
    uses = Counter(name for text in texts for name in found.intersection(_words(text)))
    named = {name for name, n in uses.items() if n > 1}
    for title in titles:
        before, colon, after = title.partition(": ")
        if colon and after[:1].islower() and len(before.split()) == 1:
            named.add(before)
        words = _words(title)
        named.update(found.intersection(words))
        if any(word[0].islower() and len(word) > _LEAST_NAME for word in words[1:]):
            named.update(_names_inside(title))
    return frozenset(named)


def _words(text: str) -> list[str]:
    return [_bare(match[0]) for match in _WORD.finditer(text)]


def _names_inside(text: str) -> Iterable[str]:
    for match in _WORD.finditer(text):
        before = text[: match.start()].rstrip("\"“‘(['’ ")  # noqa: RUF001
        if before and not before.endswith(_SENTENCE_ENDS) and _is_name(word := _bare(match[0])):
            yield word


def _is_name(word: str) -> bool:
    """Whether it is written like a name. An abbreviation in capitals is none: it names a thing of many programs."""
    return len(word) >= _LEAST_NAME and word[0].isupper() and not word.removesuffix("s").isupper()


def _bare(word: str) -> str:
    for ending in _POSSESSIVE:
        word = word.removesuffix(ending)
    return word.rstrip(".'’-")  # noqa: RUF001


def can_follow(sentence: str, names: frozenset[str]) -> bool:
    """Whether readers of a feed understand the sentence behind the one that it continues."""
    return not (has_code(sentence) or _PASSING.search(sentence) or _parts_in(sentence, names))


def _parts_in(sentence: str, names: frozenset[str]) -> frozenset[str]:
    # A name may be that of a part: Node.js.
    unnamed = " ".join(word for word in sentence.split() if _bare(word) not in names)
    return frozenset(part.casefold() for part in _PART.findall(unnamed))


def tells_readers(sentence: str, names: frozenset[str], subject: str, *, is_on_subject: bool) -> bool:
    """Whether a sentence of a manual names what it is about, and tells readers of a feed why it matters.

    `is_on_subject`: whether it begins with the subject of the article. Otherwise it has to begin with a name. Of the parts of a
    program, it may speak of those in `subject`.
    """
    words = _words(sentence)
    if len(words) > _MOST_WORDS or has_code(sentence) or _PASSING.search(sentence):
        return False
    if not _parts_in(sentence, names) <= set(subject.casefold().split()):
        return False
    if not (_WORTH.search(sentence) or _INTRODUCES.match(sentence)):
        return False
    named = [place for place, word in enumerate(words) if word in names and _is_name(word)]
    return bool(named) and (is_on_subject or named[0] < _FIRST_WORDS)
