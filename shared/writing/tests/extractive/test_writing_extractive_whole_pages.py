"""The digest of one page: in its own order, whole or in whole sections, each beside what it needs."""

from dataclasses import replace

import pytest

from documents.blocks import (
    Block,
    Gap,
    ItemList,
    Link,
    Listing,
    ListItem,
    Table,
)
from documents.sections import ENTRY_LEVEL, Section
from tests.fixtures.digests import (
    GAS,
    KILN,
    KINDS,
    POWER,
    REST,
    WOOD,
    P,
    digest,
    headings,
    long_section,
    page,
    source,
)
from tests.fixtures.kilns import LOADING
from writing import InsufficientSourcesError


@pytest.mark.parametrize(
    ("children", "shown", "closing"),
    [
        # Whole, with all that stands below.
        ([long_section("Raku", 500, Section("Salt", 3, "", (P(GAS),))), long_section("Wood", 500)],
         ["Raku kilns", "Salt", "Wood kilns"], ""),
        # Whole sections from the beginning, and what they go on with.
        ([long_section("Raku", 2_000), long_section("Wood", 2_300), long_section("Gas", 1_000), long_section("Salt", 800)],
         ["Raku kilns", "Wood kilns"],
         "*There is more in the source: “Gas kilns” and [“Salt kilns”](https://k.example/1.html#salt).* [1]"),
        # A section without those below it, if it stands without them.
        ([long_section("Raku", 3_000, long_section("Salt", 1_750)), long_section("Wood", 1_400)], ["Raku kilns", "Wood kilns"],
         "*There is more in the source: [“Salt kilns”](https://k.example/1.html#salt).* [1]"),
    ],
)  # fmt: skip
def test_a_page_is_shown_whole_or_in_whole_sections(
    children: list[Section], shown: list[str], closing: str
) -> None:
    children = [replace(each, anchor="") if each.title == "Gas kilns" else each for each in children]
    kilns = page(P(KILN), children=children)
    article = digest(source(kilns, path="1.html", url="https://k.example/1.html"))
    assert headings(article) == shown
    assert article.body_markdown.rstrip().rpartition("\n\n")[2].startswith(closing or "Wood wa")


@pytest.mark.parametrize(
    ("keyword", "missing"),
    [("firing kilns", "Firing"), ("kilns step by step", "Salt"), ("kilns", "Step 4: fire")],
)
def test_a_procedure_is_not_cut_before_its_step(keyword: str, missing: str) -> None:
    children = [long_section(name, 1_700) for name in ("Raku", "Wood", "Gas")]
    children.append(replace(long_section("Salt", 1_700), title=missing))
    with pytest.raises(InsufficientSourcesError, match="would stop before"):
        digest(page(P(KILN), title=keyword.capitalize(), children=children), keyword=keyword)


def test_a_page_that_would_break_off_is_refused() -> None:
    children = [long_section(name, 2_000) for name in ("Raku", "Wood", "Gas", "Salt")]
    with pytest.raises(
        InsufficientSourcesError, match="too long for an article, which would stop before “Gas kilns”"
    ):
        digest(page(P(KILN), children=children))


def test_a_section_with_less_of_the_keyword_does_not_replace_a_page_that_is_too_long() -> None:
    children = [long_section(name, 2_000) for name in ("Raku", "Wood", "Gas", "Salt")]
    less = source(page(P(KILN), P(REST), title="Kiln shelves"), 2, about=0.9)
    with pytest.raises(InsufficientSourcesError, match="too long"):
        digest(source(page(P(KILN), children=children)), less)


def test_a_section_that_continues_another_one_is_refused() -> None:
    others = replace(source(page(title="Other kilns")), titles_above=("Kiln",))
    with pytest.raises(InsufficientSourcesError, match="continues another section"):
        digest(others, keyword="other kilns")


def test_a_listing_stays_in_front_of_the_text_that_speaks_of_it() -> None:
    listing = Listing(("kiln warm 2",))
    said = "All of the results in the example are the same if the chambers of the kiln are numbered from the top."
    children = (Section("Comparison", 2, "", (listing, P(said))), *KINDS)
    assert f"```\nkiln warm 2\n```\n\n{said}" in digest(page(P(KILN), children=children)).body_markdown


def test_a_listing_is_shown_where_only_the_last_sentence_in_front_of_it_needs_what_is_missing() -> None:
    said = "The names of the kilns are invented."
    cut = "However, any potter could use the kiln described in this chapter."
    body = digest(page(P(KILN), P(f"{said} {cut}"), Listing(("kiln: raku",)), P(REST))).body_markdown
    assert f"{said} [1]\n\n```\nkiln: raku" in body
    assert cut not in body


def test_a_lead_in_stays_with_the_parts_that_it_leads_up_to() -> None:
    lead, one, two = "Fire a kiln in one of these two ways:", "With wood:", "With gas:"
    body = digest(
        page(P(KILN), P(lead), P(one), Listing(("fire -w",)), P(two), Listing(("fire -g",)), P(REST))
    )
    assert f"{lead} [1]\n\n{one} [1]\n\n```\nfire -w\n```\n\n{two} [1]" in body.body_markdown


def test_a_figure_is_no_place_of_a_page_that_is_shown_whole() -> None:
    text = "The flame goes from the top of the kiln to its floor as shown in figure 17."
    linked = P(f"{KILN} {text}", (Link(len(KILN) + len(text) - 8, len(KILN) + len(text), "1.html#f17"),))
    kilns = page(linked, P(REST))
    body = digest(source(replace(kilns, anchors=("f17",)))).body_markdown
    assert "floor […]." in body


def test_numbers_that_a_sentence_leads_up_to_are_a_listing() -> None:
    lead = "The kiln loses its heat at these rates, in degrees:"
    body = digest(page(P(KILN), P(lead), P("1152.11"), P("-1152.10"), P(REST))).body_markdown
    assert f"{lead} [1]\n\n```\n1152.11\n-1152.10\n```" in body


def test_the_end_of_an_item_that_leads_up_to_a_listing_is_shown_with_it() -> None:
    item = ListItem((P("Fires the kiln."), P("It is the same as"), Listing(("kiln fire -w",))))
    assert (
        "It is the same as [1]\n\n  ```\n  kiln fire -w"
        in digest(page(P(KILN), ItemList((item, item)))).body_markdown
    )


def test_a_list_below_the_title_stays_in_front_of_what_speaks_of_it() -> None:
    items = ItemList(
        (
            ListItem((P("wood - a fire of wood, as potters know it"),)),
            ListItem((P("gas - a fire of gas only"),)),
        )
    )
    told = "Wood is no common mode. It is better than gas, but still not recommended for kilns in towns."
    body = digest(page(items, P(told), P(REST), P(KILN), children=())).body_markdown
    assert not body.startswith(told)


def test_a_text_on_this_thing_stays_below_its_heading() -> None:
    told = "This element holds all kilns of a workshop, those that burn wood and those that burn gas or need power."
    parts = (Section("Kilns of wood", 2, "", (P(told),)), *KINDS)
    assert digest(page(children=parts)).body_markdown.startswith(f"## Kilns of wood\n\n{told}")


@pytest.mark.parametrize(
    "first",
    [
        "The introductory example showed how to load a kiln with pots that are dry.",
        "By default, all pots on the shelves of the kiln are also counted at night.",
    ],
)
def test_what_calls_back_to_a_text_before_it_does_not_open(first: str) -> None:
    assert not digest(page(P(first), P(KILN), P(REST))).body_markdown.startswith(first)


def test_an_announcement_is_no_description() -> None:
    first = "Keep the door of the kiln closed until it is cold enough to touch."
    items = ItemList((ListItem((P(first),)), ListItem((P(REST),))))
    hints = page(
        P("The following may help potters who fire for the first time:"), items, title="Hints", children=()
    )
    told = digest(replace(source(hints), titles_above=("Kiln",)), keyword="hints")
    assert told.meta_description == first


def test_a_subsection_that_needs_what_its_page_shows_is_shown_and_one_that_needs_more_is_left_out() -> None:
    whole = Section("Bricks", 2, "", (P("They are laid in two layers, as the last one cracks. " * 4),))
    assert headings(digest(page(P(KILN), children=(whole, *KINDS))))[0] == "Bricks"
    torn = Section("Bricks", 2, "", (P("As Table 4.2 shows, they are laid in two layers at night. " * 4),))
    assert headings(digest(page(P(KILN), children=(torn, *KINDS)))) == [
        "Wood kilns",
        "Gas kilns",
        "Electric kilns",
    ]


def test_the_description_of_a_command_stands_right_below_its_name() -> None:
    told = "This command heats the second chamber of the kiln for a night, and cools it for a day before its door is opened."
    synopsis = Listing(("kiln warm CHAMBER",))
    for n, level in enumerate((2, 3)):
        called = Section(
            "kiln warm", level, "", (synopsis,), (Section("Description", level + 1, "", (P(told),)),)
        )
        children = (called, *KINDS) if n == 0 else (Section("Calls", 2, "", (P(GAS),), (called,)), *KINDS)
        assert (
            f"iln warm\n\n{told} [1]\n\n```\nkiln warm"
            in digest(page(P(KILN), children=children)).body_markdown
        )


def test_a_heading_that_stands_twice_does_not_take_its_text_along() -> None:
    ash = "Ash is swept out of the chamber before the next load of ware."
    first, second = (
        replace(each, children=(Section("Care", 3, "", (P(text),)),))
        for each, text in zip(KINDS[:2], (LOADING, ash), strict=True)
    )
    article = digest(page(P(KILN), children=(first, second)))
    assert headings(article) == ["Wood kilns", "Care", "Gas kilns"]
    assert f"{ash} [1]" in article.body_markdown


def test_a_subsection_keeps_its_beginning_where_those_below_it_are_shown() -> None:
    told = P(
        "In this scenario the crew of a kiln burns wood, and it works through two nights before it opens the door again."
    )
    fuel = Section("Fuel", 2, "", (told,), KINDS)
    body = digest(page(P(KILN), children=(fuel,))).body_markdown
    assert f"## Fuel\n\n{told.text} [1]\n\n### Wood kilns" in body


def test_the_facts_on_a_setting_stand_behind_what_it_does() -> None:
    told = "This parameter limits the heat of the kiln in degrees, as the cone of the ware demands."
    facts = Table((("integer", "900"),), ("type", "default"))
    body = digest(page(facts, P(told), P(GAS), title="kiln_limit"), keyword="kiln_limit").body_markdown
    assert body.startswith(f"**kiln_limit** – {told} [1]\n\n| type | default |")  # noqa: RUF001 - a dash


def test_what_a_heading_is_said_to_be_opens_behind_it() -> None:
    told = "This is a limit on the heat of the chamber, in degrees. It holds for all loads of ware."
    body = digest(page(P(told), P(GAS), title="Kiln limit"), keyword="kiln limit").body_markdown
    assert body.startswith(f"**Kiln limit** – {told} [1]")  # noqa: RUF001 - a dash


def test_a_sentence_that_has_its_title_for_its_subject_needs_it_no_second_time() -> None:
    told = "The kiln limit triggers (at night) when the cone has melted in the chamber."
    body = digest(page(P(told), P(GAS), title="Kiln limit"), keyword="kiln limit").body_markdown
    assert body.startswith(told)


def test_short_subsections_take_in_what_stands_below_them() -> None:
    parent = Section("Fuel", 2, "", (P("Kilns burn one of several fuels."),), children=KINDS)
    assert (
        "## Fuel\n\nKilns burn one of several fuels. [1]\n\n### Wood kilns\n"
        in digest(page(P(KILN), children=(parent,))).body_markdown
    )


def test_a_page_of_entries_without_an_introduction_shows_each_under_its_name() -> None:
    entries = [Section(f"kiln_{name}", ENTRY_LEVEL, name, (Listing((f"kiln_{name}(load)",)), P(f"Lets a kiln {name} its load of ware for hours."), P(REST)))
               for name in ("heat", "hold", "cool")]  # fmt: skip
    article = digest(page(title="Kiln calls", children=entries), keyword="kiln calls")
    assert article.body_markdown.startswith(
        "## kiln_heat\n\nLets a kiln heat its load of ware for hours. [1]"
    )
    assert headings(article) == ["kiln_heat", "kiln_hold", "kiln_cool"]


AGAIN = "Another kiln burns wood, and the crew that feeds it works at night for days on end."


@pytest.mark.parametrize(
    ("blocks", "begins"),
    [
        # The section's own first paragraph, where no paragraph says what it is about.
        ([P(AGAIN), P(REST)], AGAIN),
        ([P("Is it hot?"), P("It is."), P(f"Then wait. {AGAIN}"), P(AGAIN), P(REST)], AGAIN),
        ([P("Kilns of wood:"), ItemList((ListItem((P(AGAIN),)), ListItem((P(REST),))))], "Kilns of wood:"),
        # A list that is too long does not end it.
        ([P(AGAIN), P("They burn:"), Gap("list"), P(REST)], AGAIN),
        # Nothing says what it is.
        ([P("It is hot there.")], "## Wood kilns"),
        ([P("This section is on kilns that burn wood, at night.")], "## Wood kilns"),
    ],
)
def test_a_section_that_nothing_opens_is_shown_as_it_stands(blocks: list[Block], begins: str) -> None:
    more = [replace(each, blocks=(P(f"They are hot. {each.text}"),)) for each in KINDS]
    article = digest(page(*blocks, children=more))
    assert article.body_markdown.startswith(begins)


def test_what_is_not_shown_of_a_whole_section_is_named_at_its_end() -> None:
    torn = Section("Bricks", 2, "", (P("As Table 4.2 shows, they are laid in two layers at night. " * 4),))
    smoke = "The smoke of a kiln that burns wood hangs over the village."
    bare = Section("Smoke", 2, "", (P(smoke),))
    body = digest(page(P(KILN), children=(torn, *KINDS, bare))).body_markdown
    assert "two layers" not in body
    assert "hangs over" not in body
    assert body.endswith("*There is more in the source: “Bricks”.* [1]\n")


def test_an_answer_stays_below_its_question() -> None:
    questions = [
        replace(each, title=f"Which {name}?")
        for each, name in zip(KINDS, ("wood", "gas", "power"), strict=True)
    ]
    body = digest(page(children=questions)).body_markdown
    assert body.startswith(f"## Which wood?\n\n{WOOD} [1]")


def test_entries_are_shown_all_or_not_at_all() -> None:
    calls = [
        Section(f"kiln_{n}", ENTRY_LEVEL, f"k{n}", long_section(f"Call{n}", 200).blocks) for n in range(9)
    ]
    raku = long_section("Raku", 4_400)
    article = digest(page(P(KILN), children=(raku, Section("Calls", 2, "calls", (), tuple(calls)))))
    assert headings(article) == ["Raku kilns"]
    assert "“Calls”" in article.body_markdown.rpartition("\n\n")[2]


def test_a_command_that_a_page_calls_this_one_is_named() -> None:
    told = (
        "This command heats a kiln for hours, and lets its load of ware cool down before it opens the door."
    )
    body = digest(page(P(told), title="kiln heat"), keyword="kiln heat").body_markdown
    assert body.startswith("**kiln heat** – This command heats a kiln for hours")  # noqa: RUF001 - a dash


def test_a_sentence_that_its_page_does_not_end_is_left_out_of_an_item() -> None:
    item = ListItem((P("Burns wood, and gas where there is any."), P("When it is cold, it is off for the")))
    assert "off for the" not in digest(page(P(KILN), ItemList((item, item)))).body_markdown


def test_an_address_is_listed_once() -> None:
    others = [
        source(page(P(KILN), title=f"Kiln {name}"), n, url="https://k.example/2", about=0.7)
        for n, name in ((2, "shelves"), (3, "doors"))
    ]
    body = digest(source(page(P(KILN), P(REST))), *others).body_markdown
    assert "## See also\n\n- [Kiln shelves](https://k.example/2) [2]\n" in f"{body}\n"
    assert "doors" not in body


def test_an_entry_opens_with_its_signature() -> None:
    entry = Section(
        "kiln_fire(load, hours)",
        ENTRY_LEVEL,
        "fire",
        (P("Fires the load of a kiln for some hours."), P(REST)),
    )
    article = digest(source(entry, titles_above=("Calls",), about=0.95), keyword="kiln_fire")
    assert article.title == "kiln_fire (Calls)"
    assert article.section == "kiln_fire"
    assert article.body_markdown.startswith(
        "**kiln_fire(load, hours)** \u2013 Fires the load of a kiln for some hours. [1]"
    )


def test_links_lead_to_where_the_collection_lies() -> None:
    link = Link(2, 6, "parts/kiln.html#x")
    at_home = source(page(P(KILN, (link,))), url="https://kilns.example/docs/1.html")
    assert digest(at_home).body_markdown.startswith(
        "A [kiln](https://kilns.example/docs/parts/kiln.html#x) is"
    )
    for url in (None, "https://kilns.example/other", "file:///etc/1.html"):
        assert digest(source(page(P(KILN, (link,))), url=url)).body_markdown.startswith(KILN)
    hostile = P(KILN, (Link(2, 6, "javascript:alert(1)"), Link(0, 900, "https://a.example/")))
    assert digest(source(page(hostile), url="https://k.example/1.html")).body_markdown.startswith(KILN)


def test_the_introduction_of_its_own_page_does_not_follow_a_short_section() -> None:
    pots = (
        P("A bisque firing hardens pots so far that they take glaze and can be handled."),
        P(POWER),
    )
    section = Section("Loading for a bisque firing", 2, "bisque", pots)
    whole = page(P(KILN), P(WOOD), children=(section, *KINDS[:1]))
    short = source(section, path="kilns.html", titles_above=("Kiln",), about=0.75)
    article = digest(short, source(whole, n=2, path="kilns.html", about=0.8), keyword="bisque")
    assert article.body_markdown.startswith(KILN)
    assert headings(article) == ["Loading for a bisque firing"]
