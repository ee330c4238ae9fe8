"""Words that the rules of subjects' keys treat each in its own way. Data alone.

Whoever changes a word here changes keys: raise `keys.REVISION`, so that stored subjects get their keys anew.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


OWN_PLURALS: Final = _words("""
    acoustics aerobics aesthetics affairs arms arts ashes athletics axes basics bearings bitters blinds blues boxers braces brains briefs checkers civics classics
    clothes contacts contents corps cosmetics craps crisps customs damages darts dice draughts dues dynamics earnings economics
    electronics ethics falls forces futures glasses goods graphics greens grits grounds hives holdings https humanities hydraulics innings interests likes
    lens linguistics lives logistics looks manners means mechanics minutes morals nerves news odds operations optics pants pediatrics piles plains politics premises
    proceeds provisions quarters rapids regards remains rights robotics ruins sales sands savings securities series shingles shorts specs species spectacles
    spirits springs sweets thanks tights trunks wages waters winnings wits woods works
    """)
"""English words in s that name something else than their stem, or nothing but themselves: blues are no blue, customs no custom."""

PLURALS_AFTER: Final = {
    "arts": frozenset(("martial",)),
    "braces": frozenset(("ankle", "back", "knee", "neck", "wrist")),
    "glasses": frozenset(
        (
            "beer",
            "champagne",
            "cocktail",
            "drinking",
            "martini",
            "pint",
            "shot",
            "water",
            "wine",
            "whisky",
            "whiskey",
        )
    ),
    "sales": frozenset(("boot", "flash", "garage", "jumble", "rummage", "yard")),
    "springs": frozenset(("hot", "coil", "mattress")),
}
"""Words before which `OWN_PLURALS` are plain plurals after all: wine glasses are many a wine glass."""

PLURALS_ALONE: Final = _words("""
    blacks brights casuals commons darks doubles essentials finals flats formals greats heavies highs initials intimates lights locals lows mains
    nationals naturals neutrals opens originals primaries privates reds regulars rights roughs rounds royals seconds sharps singles slacks smalls
    soles solids spares specials straights uppers vitals whites
    """)
"""English words in s that, as the whole keyword, are no plural: the word without s is an adjective then. Flats are no flat."""

SINGULARS: Final = _pairs(
    """
    ads:ad alumni:alumnus analyses:analysis appendices:appendix bacteria:bacterium bases:base cacti:cactus calves:calf cds:cd
    children:child childrens:child crises:crisis criteria:criterion curricula:curriculum diagnoses:diagnosis dvds:dvd dwarves:dwarf elves:elf feet:foot
    firemen:fireman fungi:fungus geese:goose halves:half hooves:hoof hypotheses:hypothesis indices:index knives:knife leaves:leaf
    lenses:lens loaves:loaf matrices:matrix men:man mens:man mice:mouse neuroses:neurosis nuclei:nucleus oases:oasis oxen:ox
    parentheses:parenthesis pcs:pc phenomena:phenomenon prognoses:prognosis prostheses:prosthesis psychoses:psychosis radii:radius
    scarves:scarf selves:self shelves:shelf stimuli:stimulus syllabi:syllabus symbioses:symbiosis syntheses:synthesis teeth:tooth
    theses:thesis thieves:thief thromboses:thrombosis tvs:tv vertebrae:vertebra vertices:vertex wharves:wharf wives:wife wolves:wolf
    women:woman womens:woman
    """
)
"""English plurals that no ending tells."""

SPELLINGS: Final = _pairs(
    """
    aeroplane:airplane aluminium:aluminum anaemia:anemia armour:armor behaviour:behavior calibre:caliber catalogue:catalog
    centre:center colour:color counselling:counseling counsellor:counselor defence:defense diarrhoea:diarrhea donut:doughnut
    enquiry:inquiry favour:favor favourite:favorite fibre:fiber flavour:flavor fulfilment:fulfillment glamour:glamor
    grey:gray gynaecology:gynecology haemorrhoid:hemorrhoid harbour:harbor honour:honor humour:humor jeweller:jeweler jewellery:jewelry
    labelling:labeling labour:labor leukaemia:leukemia licence:license litre:liter manoeuvre:maneuver marvellous:marvelous
    metre:meter modelling:modeling mould:mold moulding:molding moustache:mustache neighbour:neighbor neighbourhood:neighborhood
    oestrogen:estrogen offence:offense orthopaedic:orthopedic paediatric:pediatric paediatrician:pediatrician plough:plow programme:program
    pyjamas:pajamas rumour:rumor skilful:skillful smoulder:smolder sulphur:sulfur theatre:theater traveller:traveler
    travelling:traveling tumour:tumor tyre:tire vapour:vapor vigour:vigor yoghurt:yogurt
    """
)
"""British spellings, and others of one word, with the one that a key has. Words of which both spellings name things stay (whisky, whiskey)."""

NUMBERS: Final = _pairs(
    """
    two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11 twelve:12
    1st:first 2nd:second 3rd:third 4th:fourth 5th:fifth
    """
)
"""English numbers as people write them in either way; "one" is too often none."""

FIRST_NAMES: Final = _words("""
    adam andrew brook daniel david edward emmanuel evan gilbert henry hugh jacob jenkin john jone matthew michael peter philip phillip
    rick robert roger simon stephen steven walter william
    """)
"""Of which the form in s is another name: Philips, Daniels, Rogers."""

ACRONYMS_LIKE_WORDS: Final = _words("AIDS ARM CAT GAP ICE IT PET SAD STEM SWIFT TIPS US WHO")
"""Acronyms that mean something else in lower case."""

NAMES_LIKE_WORDS: Final = _words("polish teams windows")
"""Words that are names where they are written with a capital letter, and case tells, wherever they stand."""

NAMES_WITHIN: Final = _words("bath china jordan march may nice reading turkey")
"""As `NAMES_LIKE_WORDS`, but not as the first word, which may have its capital letter as such."""

NAMED_BESIDE: Final = {
    "teams": _words("microsoft slack zoom office365 365"),
    "windows": _words(
        "7 8 10 11 95 98 xp vista server defender update laptop pc install linux mac macos microsoft driver desktop powershell azure"
    ),
}
"""Words beside which a name is one in lower case, too: windows 11."""

_BANDS: Final = _words(
    "animals byrds carpenters cars cranberries doors eagles killers kinks monkees pixies smiths specials strokes temptations turtles"
)
_OF_MUSIC: Final = _words(
    "album albums band bands chords concert discography lyrics singles song songs tour tribute vinyl"
)
_TEAMS: Final = _words("""
    bears bengals bills broncos browns bulls cardinals chargers chiefs colts cowboys cubs dolphins eagles falcons giants jaguars jets kings lions
    mavericks nuggets packers panthers patriots penguins pirates pistons predators raiders rams rangers ravens rockets saints senators spurs steelers
    suns texans tigers titans vikings yankees
    """)
_OF_SPORTS: Final = _words(
    "fixtures game games jersey jerseys mlb nba nfl nhl playoffs quarterback roster schedule score scores season standings tickets"
)
CALLED_IN_PLURAL: Final = ((_BANDS, _OF_MUSIC), (_TEAMS, _OF_SPORTS))
"""Bands and teams that are called like many of a thing, and the words beside which they are meant: eagles tickets are for no eagle.

Alone and with a capital letter they are meant as well.
"""

LONG_NAMES_IN_PLURAL: Final = tuple(
    tuple(name.split())
    for name in (
        "arctic monkeys", "backstreet boys", "beach boys", "beastie boys", "black keys", "blues brothers", "chemical brothers", "counting crows",
        "fleet foxes", "foo fighters", "indigo girls", "new york giants", "new york jets", "pet shop boys", "red hot chili peppers", "rolling stones",
        "scissor sisters", "smashing pumpkins", "spice girls", "stone roses", "talking heads", "violent femmes", "white stripes",
    )
)  # fmt: skip
"""Such names of several words, which mean nothing else."""

ACCENTED: Final = _words("exposé lamé maté rosé")
"""English words that are others without their accent: rosé is no rose."""

NOT_BRITISH: Final = _words(
    "advertising enterprising exercising franchising merchandising promising supervising surprising"
)
"""Words in ising that Americans spell so, too."""

BEFORE_ISE: Final = _words(
    "author categor custom maxim minim optim organ personal prior real recogn special stabil steril util visual"
)
"""Beginnings of verbs that Americans spell with a z."""

ARTICLES: Final = frozenset(("a", "an", "the"))

FRENCH_PLURALS: Final = _words("""
    assises bas bois bras cas ciseaux concours corps cours dos fils fois frais gaz gens jus lunettes mois os parcours paris pas pays poids
    procès prix puis repas sens souris temps toilettes tous tras vacances vers virus voix
    """)
SPANISH_PLURALS: Final = _words("bodas celos esposas gafas gracias lentes modales vacaciones víveres")
PORTUGUESE_PLURALS: Final = _words("calças costas férias lentes óculos pais parabéns")
GERMAN_PLURALS: Final = _words("ferien kosten leute möbel noten steuern waren")
"""Plurals that are a thing of their own beside their singular, if they have one."""
