"""Finds praise without a named author: "Acme makes the best kettles" is an opinion or an advertisement, not a fact. Pure.

"The Guardian calls Acme's kettle the best of 2024" attributes the opinion; the other checks compare it with the passage.
"A medium grind works best" compares, and is no praise.
"""

import re
from typing import Final

_ALWAYS_PRAISE: Final = re.compile(
    r"\b(?:world[- ]class|world[- ]leading|market[- ]leading|industry[- ]leading|best[- ]in[- ]class|second to none|unrivall?ed"
    r"|unmatched|unbeatable|unparalleled|unsurpassed|must-have|a must have|must[- ]buy|game[- ]chang(?:er|ing)|revolutionary|cutting[- ]edge"
    r"|state[- ]of[- ]the[- ]art|next[- ]level|award[- ]winning|amazing|awesome|incredible|stunning|breathtaking|magical|superb"
    r"|fantastic|truly (?:special|unique|great|remarkable)|simply the best|like no other|you(?:'|\u2019)ll love|won(?:'|\u2019)t regret)\b",
    re.IGNORECASE,
)
_RANKS: Final = (
    r"(?:[Tt]he (?:very )?(?:best|finest|greatest|leading|premier|most (?:trusted|loved|innovative|advanced|reliable))"
    r"|[Tt]he (?:number one|no\. ?1|#1)|(?:a|an) (?:leading|premier|excellent|outstanding|perfect))"
)
_NAME: Final = r"[A-Z][\w&.\u2019'-]*"
_NAMED_IS_BEST: Final = re.compile(
    rf"(?:^|[\s\u201c\"(]){_NAME}(?: {_NAME}){{0,4}}(?:[\u2019']s? [a-z][\w ]{{0,40}})? "
    rf"(?:is|are|was|were|remains?|makes?|offers?|sells?|builds?|brews?|provides?|has|have) (?:[a-z]+ )?{_RANKS}\b"
)
_BEST_IS_NAMED: Final = re.compile(
    rf"\b{_RANKS} (?:[a-z-]+ ){{1,6}}(?:is|are|comes from|is made by|are made by) {_NAME}"
)
_SOMEBODY_SAYS: Final = re.compile(
    rf"\b(?:[Aa]ccording to|[Ii]n the (?:view|words|opinion) of) (?:the )?{_NAME}|^For {_NAME}(?: {_NAME}){{0,4}},"
    rf"|{_NAME}(?: {_NAME}){{0,4}},? (?:who [\w ]{{1,40}},? )?(?:said|says|calls?|called|considers?|considered|ranks?|ranked|rates?"
    rf"|rated|names?|named|votes?|voted|praised|praises|describes?|described|argues?|argued|thinks?|found|judged)\b"
    rf"|\b(?:called|considered|ranked|rated|named|voted|praised|described|judged|chosen)\b[^.]{{0,60}}\bby (?:the )?{_NAME}"
)


def find_unattributed_praise(sentence: str, context: str) -> str | None:
    """Returns the words that praise, unless the sentence attributes the opinion; None without praise.

    `context` tells names from other words that begin a sentence: it has them with a capital within its sentences.
    """
    found = _ALWAYS_PRAISE.search(sentence) or _BEST_IS_NAMED.search(sentence)
    named = _NAMED_IS_BEST.search(sentence)
    if named and (
        named.start() or named[0].split()[1][:1].isupper() or _is_name(named[0].split()[0], context)
    ):
        found = found or named
    if found is None or _SOMEBODY_SAYS.search(sentence):
        return None
    return found[0].strip()


def _is_name(word: str, context: str) -> bool:
    word = re.sub(r"[\u2019']s?$", "", word)
    return re.search(rf"[a-z,;] {re.escape(word)}\b", context) is not None
