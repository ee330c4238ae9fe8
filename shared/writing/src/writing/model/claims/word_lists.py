"""Tables of the words that negate, limit, rank or frame a statement, by their effect."""

from typing import Final

from writing.model.claims.wording import NEGATIONS, tokens_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _keys(text: str) -> frozenset[str]:
    return frozenset(map(_key, text.split()))


def _key(word: str) -> str:
    return tokens_of(word)[0].key


NOT: Final = (NEGATIONS | {"not"}) - {"hardly", "barely", "scarcely"}
SCARCELY: Final = _words("hardly barely scarcely rarely seldom")
DENYING: Final = (
    NOT
    | SCARCELY
    | _words(
        "except unless rather instead lack lacks lacked fail fails failed stop stops left leave"
        " stopped prevent prevents prevented avoid avoids avoided refuse refuses refused impossible illegal impractical irregular spare spared"
    )
)
"""A claim may render these words of a passage with “not”."""
NO_PREFIX: Final = ("under", "until", "unit", "union", "unique", "univers", "uncle")
"""Words that start with “un” and negate nothing."""
NOT_ONLY: Final = _words("only just necessarily")

_FEW: Final = _words("rarely seldom few hardly barely scarcely little")
_SOME: Final = _words(
    "some several sometimes occasionally partly partially may might could perhaps possibly probably likely maybe tend tends tended"
    " part"
)
_MOST: Final = _words(
    "most usually generally typically normally commonly mostly mainly largely often frequently many majority chiefly"
)
_ALL: Final = _words("all every each always both everywhere entire entirely completely fully everyone")
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
    (_ONLY, _words("except no not without alone none until")),
    (_words("except but unless"), _words("only if apart besides other without")),
    (_SOME | _MOST | _FEW, _words("can less fewer about")),
    (UNREAL, frozenset()),
    (_DEGREES, frozenset()),
    (_words("formerly previously originally"), _words("once was were had used earlier before")),
    (_words("or"), frozenset()),
    (_words("will shall would"), _words("may can might could should must is are to")),
)
"""If a passage's clause has a word of the first set, the claim needs it, another of its kind, or one of the second set."""
_WIDE: Final = _words("country countries world worldwide nation nationwide continent society public mankind")
ADDED: Final = (_ONLY | {"except"}, _ALL, UNREAL - {"future", "former", "imaginary", "virtual", "toy"}, _WIDE)
"""If the claim has one of these words, the passage needs it, too."""
FRACTIONS: Final = _MOST | _words("half third quarter fifth tenth part some few several minority")
"""“Half of the patients”, “a third of them”: not all of them."""
CAUSES: Final = _words("so therefore thus hence because since")
GIVES_CAUSE: Final = CAUSES | _words(
    "as cause causes caused reason reasons due why mean means lead leads led make makes made result results otherwise blamed"
)
PURPOSES: Final = _words("so order designed intended meant aim aimed purpose")
CONDITIONAL: Final = _words(
    "if when where unless except provided whether whoever anyone only otherwise without until once or"
)
"""The claim may express a condition of the passage with any of these."""
RANKS: Final = _words(
    "first second third last leading top chief foremost best worst better sole unique main greatest only"
)
"""Words that put a thing before others."""
HELPS: Final = _keys("help ask allow permit need begin start able want order tell force urge enable")
"""Before “to”: who “helped to build” a thing did not build it."""
RELATIONS: Final = _keys(
    "pupil student apprentice teacher mentor founder owner head leader maker son daughter brother sister father mother wife husband"
    " successor predecessor rival part member"
)
"""“The pupil of Ann”: exchanged names make it false."""

FRAMED: Final[tuple[frozenset[str], ...]] = (
    _keys(
        "say according argue claim suggest insist call consider regard think believe describe praise blame"
        " advise warn view opinion estimate reportedly supposedly allegedly allege rumour rumor recommend complain accuse charge"
    ),
    _keys("fear doubt worry"),
    _keys(
        "deny reject false untrue myth refuse fail stop cease try attempt quit forbid pretend imagine dream"
    ),
    _keys("seem appear suppose hypothesis theory hypothetically officially nominally average risk"),
    _keys("plan want wish hope intend agree propose expect promise threaten offer will shall due aim"),
)
"""Words that attribute, doubt, deny, limit or announce what follows, by kind."""
FRAME_KEYS: Final = frozenset[str]().union(*FRAMED)

_OPPOSITES: Final = """
    more / less fewer; high higher / low lower; fast faster quick quickly quicker sooner / slow slowly slower later;
    long longer / short shorter;
    increase rise raise grow climb up gain lift / decrease fall drop shrink cut lower reduce decline down sink;
    hot warm hotter warmer / cold cool colder cooler; before / after; above / below; over / under; maximum / minimum;
    first / last; light lighter / dark darker; coarse coarser / fine finer; good better best / bad worse worst;
    on / off; open / close shut; left / right; north northern / south southern; east eastern / west western;
    older / newer younger; large larger big bigger / small smaller; hard harder / easy easier;
    strong stronger / weak weaker milder mild; early earlier / late later;
    thick thicker  / thin thinner ; deep / shallow; wet / dry; true / false;
    allow permit / forbid prohibit ban; add / remove; buy / sell; win / lose; begin start / end stop finish;
    hire / fire dismiss; accept approve / reject refuse; help / hinder hamper; pass / fail; support / oppose;
    profit / loss; safe / dangerous harmful; public / private; cheap cheaper / expensive dear dearer;
    male man men / female woman women; day / night; summer / winter;
    often usually always frequently mostly / rarely seldom never; many / few
"""
OPPOSITES: Final[dict[str, frozenset[str]]] = {
    _key(word): _keys(other)
    for line in _OPPOSITES.split(";")
    for one, other in (line.split("/"), line.split("/")[::-1])
    for word in one.split()
}
