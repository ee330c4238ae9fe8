"""Facts about all documents of a collection come from what an index keeps of each."""

from documents.blocks import Paragraph
from documents.sections import IndexTerm, Section, TocLink
from reading.collection import (
    abbreviations_of,
    copies,
    heads_of,
    index_terms_of,
    pages_above,
    parents_of,
    product_words,
    site_names,
    text_fingerprint,
    title_suffixes,
    without_suffix,
)
from reading.ranking.aboutness import SectionKind


def test_the_words_of_many_titles_name_the_product() -> None:
    titles = [f"Postfix {each}" for each in ("TLS", "SASL", "queues", "tables", "filters")] + ["About"] * 3
    assert product_words(titles) == {"postfix"}
    assert product_words(titles[:4]) == frozenset()
    texts = [(*each.split(), *["bik"] * 4, "sometim") for each in ("light", "lock", "the", "tyr", "pump")]
    assert product_words(titles[:4], texts) == {"bik"}
    assert product_words(titles[:4], texts * 20) == frozenset()
    # Without it this page would have no name.
    assert product_words(["Choosing a bike", "Bikes"], texts) == {"bik"}
    assert product_words(["Bike choices", "Tyres"], [(*each, "choic") for each in texts]) == frozenset()


def test_the_headings_of_many_pages_name_the_site() -> None:
    assert site_names([["The Site", "A"], ["the site", "B"], ["The site"], ["The Site"], ["A"]]) == {
        "the site"
    }
    assert site_names([["A"], ["A"], ["A"]]) == frozenset()


def test_the_end_that_many_titles_share_is_the_sites() -> None:
    titles = [f"{each} (Octave (7.3))" for each in "ABCDE"] + ["F \u2013 other", "G"]
    suffixes = title_suffixes(titles)
    assert suffixes == (" (Octave (7.3))", " (7.3))")
    assert [without_suffix(title, suffixes) for title in titles[4:]] == ["E", "F \u2013 other", "G"]


def test_the_shortest_table_of_contents_is_the_parents() -> None:
    everything = [TocLink(each, f"{each}.html") for each in ("part", "page", "other")]
    parents = parents_of({"index.html": everything, "part.html": [TocLink("page", "page.html#a")]})
    assert parents == {"part.html": "index.html", "page.html": "part.html", "other.html": "index.html"}
    assert pages_above("page.html", parents) == ("part.html", "index.html")


def test_pages_that_list_each_other_end() -> None:
    assert pages_above("a", {"a": "b", "b": "c", "c": "b"}) == ("b", "c")


def test_index_entries_by_their_targets() -> None:
    terms = [
        IndexTerm("NFS", "nfs.html#x"),
        IndexTerm("exports", "nfs.html#x"),
        IndexTerm("NFS", "nfs.html#x"),
    ]
    assert index_terms_of(terms) == {"nfs.html#x": ("NFS", "exports")}


def test_of_copies_the_plainest_path_stays() -> None:
    page, other = (Section("A", 0, blocks=(Paragraph(text),)) for text in ("One two.", "three"))
    same = Section("B", 0, children=(Section("C", 1, blocks=(Paragraph("one, two"),)),))
    texts = {path: text_fingerprint(each) for path, each in
             {"_sources/a.txt": page, "a.html": same, "en/a.html": page, "b.html": other}.items()}  # fmt: skip
    assert copies(texts) == {"_sources/a.txt", "en/a.html"}


def test_abbreviations_are_introduced_in_brackets() -> None:
    texts = ["A Virtual Private Network (VPN) hides it.", "The next word (NEW) is no abbreviation.", "(VPN)"]
    assert abbreviations_of(texts) == {"VPN": "Virtual Private Network"}


def test_each_section_has_a_head_with_its_place() -> None:
    entry = Section("open(path)", 8, "open", names=("open(fd)",), blocks=(Paragraph("Opens a file."),))
    page = Section("2. Files", 0, children=(Section("Calls", 2, "calls", children=(entry,)),))
    heads = [
        head
        for head, _ in heads_of(
            page, path="f.html", parent_titles=("Book",), index_terms={"f.html#open": ("fopen",)}
        )
    ]
    assert [(each.title, each.kind, each.titles_above) for each in heads] == [
        ("Files", SectionKind.PAGE, ()),
        ("Calls", SectionKind.SECTION, ("2. Files",)),
        ("open(path)", SectionKind.ENTRY, ("2. Files", "Calls")),
    ]
    assert heads[2].index_terms == ("fopen",)
    assert heads[2].words == 3
    assert {each.parent_titles for each in heads} == {("Book",)}
