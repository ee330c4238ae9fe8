"""Maps English phrases of the same meaning to one form. Pure.

The list has only phrases that are interchangeable everywhere: “requires” for “needs”, “5 to 10” for “between 5 and
10”. It omits words that are alike in some sentences only (“since”, “quite”).
"""

import re
from typing import Final

_GROUPS: Final = """
    usually generally typically normally commonly ordinarily; often frequently; sometimes occasionally;
    rarely seldom; almost nearly; about approximately roughly; mostly mainly primarily chiefly; may might;
    every each; much far considerably significantly substantially vastly; need require; start begin commence;
    big large; additional extra; enough sufficient; allow permit let; help assist; quick fast rapid; buy purchase;
    choose select; build construct; change modify alter; delete remove; entire whole; main primary principal;
    kind type; annual yearly; immediately instantly; maker manufacturer; hinder hamper; expensive costly;
    prevent avert; common widespread; stay remain; give yield; car automobile; largest biggest; doctor physician
"""
"""The first word of each group replaces the others."""
SAME: Final = {word: line.split()[0] for line in _GROUPS.split(";") for word in line.split()}
_PAST_FORMS: Final = """
    rise rose risen; fall fell fallen; grow grew grown; run ran; hold held; keep kept; give gave given; take took taken; make made;
    begin began begun; write wrote written; lead led; meet met; sell sold; buy bought; lose lost; win won; pay paid; find found;
    leave left; come came; go went gone; become became; draw drew drawn; build built; bring brought; teach taught; think thought;
    say said; speak spoke spoken; stand stood; send sent; spend spent; know knew known; see saw seen; feed fed; feel felt; sing sang
    sung; break broke broken; choose chose chosen; drive drove driven; fly flew flown; freeze froze frozen; ride rode ridden; shake
    shook; steal stole stolen; swim swam; throw threw thrown; wear wore worn; burn burnt; flee fled; fight fought; sink sank sunk;
    die died; shrink shrank shrunk; strike struck; learn learnt; tell told; hear heard; mean meant; shoot shot; weep wept; drink
    drank; eat ate eaten; get got; forbid forbade forbidden; withdraw withdrew withdrawn; forecast forecasted; hide hid hidden;
    lend lent; lie lay; sleep slept; catch caught; seek sought; wind wound; deal dealt; beat beaten; bear bore; agree agreed; use used; bind bound; blow blew
"""
PAST_FORMS: Final = {
    form: forms.split()[0]
    for forms in _PAST_FORMS.replace("\n", " ").split(";")
    for form in forms.split()[1:]
}
"""The base form of each irregular past form, to which it is equal."""

_NUMBER: Final = r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred)"
_PERIOD: Final = r"(second|minute|hour|day|week|month|year)"
_LITTLE: Final = r"(?:for|in|of|than|within|after|or|and|to|is|was|by|at|on|with|per)\b"
_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"(?<!not )\b(?:has|have) to\b(?= [a-z])", "must"),
        (r"\b(?:is|are) able to\b", "can"),
        (r"\bin order to\b", "to"),
        (r"\bat once(?=[ ,.;])", "immediately"),
        (r"\bannually\b", "per year"),
        (
            rf"\b((?:{_NUMBER}|%|percent|times|once|twice|billion|million|thousand)(?: (?!{_LITTLE})[a-z]+)?) (?:a|an|each|every) {_PERIOD}\b",
            r"\1 per \2",
        ),
        (rf"\ban? {_PERIOD} or two\b", r"one or two \1s"),
        (rf"\bbetween ({_NUMBER})((?: \w+)?) and ({_NUMBER})\b", r"\1\2 to \3"),
        (rf"\bfrom ({_NUMBER})((?: \w+)?) to ({_NUMBER})\b", r"\1\2 to \3"),
        (r"(?<=\d)[-–](?=\d)", " to "),  # noqa: RUF001
        (r"\bslow(s|ed|ing)? down\b", r"slow\1"),
        (r"\blead(?:s|ing)? to\b|\bresults? in\b", "cause"),
        (r"\b(?:led to|resulted in)\b", "caused"),
        (r"\b(?:has|have) an? (?:impact|effect|influence) on\b", "affect"),
        # A statement with “especially if …” is true without it, too.
        (r",? \b(?:especially|particularly|even) (?:if|when|where)\b", "; notably"),
        (r", that is, ", "; "),
        (r"\bcan (also )?be used to\b", r"can \1"),
        (rf"\b({_NUMBER}) (?:different|distinct|separate)\b(?= \w)", r"\1"),
        (r"\bstands for\b", "means"),
        (r"\bin spite of\b", "despite"),
        (r"\bas a result of\b|\bowing to\b|\bdue to\b", "because of"),
    )
)  # fmt: skip


def plain(text: str) -> str:
    """Replaces each phrase of the text with its standard form."""
    for pattern, instead in _PHRASES:
        text = pattern.sub(instead, text)
    return text
