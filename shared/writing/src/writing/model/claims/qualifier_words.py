"""Tables of the words that negate or limit a statement, by their effect."""

from typing import Final

from writing.model.claims.wording import NEGATIONS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOT: Final = (NEGATIONS | {"not"}) - {"hardly", "barely", "scarcely"}
DENYING: Final = NOT | _words(
    "except unless rather instead lack lacks lacked fail fails failed hardly barely scarcely rarely seldom stop stops"
    " stopped prevent prevents prevented avoid avoids avoided refuse refuses refused impossible illegal impractical irregular"
)
"""A claim may render these words of a passage with “not”."""
NO_PREFIX: Final = ("under", "until", "unit", "union", "unique", "univers", "uncle")
"""Words that start with “un” and negate nothing."""
NOT_ONLY: Final = _words("only just necessarily")

_FEW: Final = _words("rarely seldom few hardly barely scarcely little")
_SOME: Final = _words(
    "some several sometimes occasionally partly partially may might could perhaps possibly probably likely maybe tend tends tended"
)
_MOST: Final = _words(
    "most usually generally typically normally commonly mostly mainly largely often frequently many"
)
_ALL: Final = _words("all every each always both everywhere entire entirely completely fully")
_ONLY: Final = _words("only solely exclusively")
UNREAL: Final = _words(
    "toy fake mock former future imitation counterfeit artificial imaginary fictional virtual simulated so-called"
)
"""They change the meaning of the next word."""
_DEGREES: Final = _words("slightly merely somewhat nearly almost")
OF_THE_NEXT: Final = UNREAL | _words(
    "slightly merely somewhat some several few many most all every each no neither nor without any"
)
"""They modify the next word, and may be left out with it."""
LEFT_OUT: Final[tuple[tuple[frozenset[str], frozenset[str]], ...]] = (
    (_ONLY, _words("except")),
    (_words("except but unless"), _words("only if apart besides other without")),
    (_SOME | _MOST | _FEW, _words("can less fewer")),
    (UNREAL, frozenset()),
    (_DEGREES, frozenset()),
    (_words("formerly previously originally"), _words("once was were had used earlier before")),
    (_words("or"), frozenset()),
    (_words("will shall"), _words("may can might could should must")),
)
"""If a passage's clause has a word of the first set, the claim needs it, another of its kind, or one of the second set."""
ADDED: Final = (_ONLY | {"except"}, _ALL, UNREAL - {"future", "imaginary", "virtual", "toy"})
"""If the claim has one of these words, the passage needs it, too."""
CAUSES: Final = _words("so therefore thus hence because since")
GIVES_CAUSE: Final = CAUSES | _words(
    "as cause causes caused reason reasons due why mean means lead leads led make makes made result results otherwise"
)
CONDITIONAL: Final = _words(
    "if when where unless except provided whether who whoever anyone that by only otherwise without until once or"
)
"""The claim may express a condition of the passage with any of these."""
FRAMED: Final = _words(
    "claim claims claimed claiming myth myths belief believe believes believed allege alleges alleged allegedly reportedly supposedly"
    " rumour rumor rumours rumors false untrue said say says according argue argues argued suggest suggests suggested think thinks"
    " thought deny denies denied doubt doubts doubted supposed hypothesis hypothetical hypothetically seem seems seemed appear appears"
    " appeared hope hopes hoped wish wishes wished fear fears feared imagine imagines imagined pretend pretends pretended dream dreams"
    " dreamed promise promises promised threaten threatens threatened intend intends intended theory theoretically officially nominally"
    " estimate estimates estimated expect expects expected plan plans planned propose proposes proposed stop stops stopped cease ceases"
    " ceased attempt attempts attempted risk risks try tries tried fail fails failed refuse refuses refused quit quits average hold"
)
"""Words that attribute or retract a statement."""
SAYING_SO: Final = _words(
    "said say says according argue argues argued claim claims claimed suggest suggests suggested"
)
"""They are interchangeable."""

ABOUT: Final = _words("about approximately roughly around nearly almost")
BOUNDS: Final = dict.fromkeys(ABOUT, "about") | {
    word: line.split()[0]
    for line in ("least over more above minimum", "most up under less fewer below maximum", "per")
    for word in line.split()
}
"""Words that limit a number, by kind."""

_OPPOSITES: Final = """
    more / less fewer
    higher / lower
    high / low
    faster quicker / slower
    fast quick quickly / slow slowly
    longer / shorter
    long / short
    increase increases increased rise rises rose raise raises grow grows grew / decrease decreases decreased fall falls fell drop drops shrink
    hot warm / cold cool
    hotter warmer / colder cooler
    before / after
    above / below
    maximum / minimum
    first / last
    light / dark
    lighter / darker
    coarse / fine
    coarser / finer
    better / worse
    best / worst
    good / bad
    on / off
    open / closed
    left / right
    north / south
    east / west
    older / newer younger
    larger bigger / smaller
    large big / small
    harder / softer easier
    hard / soft easy
    stronger / weaker milder
    strong / weak mild
    early / late
    earlier / later
    thicker / thinner
    thick / thin
    deep / shallow
    wet / dry
    true / false
    allow allows allowed / forbid forbids forbidden
    add adds added / remove removes removed
    bought / sold
    won / lost
    begin begins began / end ends ended
    safe / dangerous harmful
    public / private
    cheaper / dearer
    male / female
    men / women
    day / night
    summer / winter
    often usually always frequently mostly / rarely seldom never
    many / few
"""
OPPOSITES: Final[dict[str, frozenset[str]]] = {
    word: _words(other)
    for line in _OPPOSITES.strip().splitlines()
    for one, other in (line.split("/"), line.split("/")[::-1])
    for word in one.split()
}
