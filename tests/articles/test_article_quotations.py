# ruff: noqa: RUF001 - typographic signs are what it is about
"""The check of quotations: it passes what the page shows, and catches what it does not."""

import pytest

from tests.articles.article_runs import told_by_description
from tests.articles.quotation_check import PageText, missing_quotations, shown_parts
from tests.articles.raw_pages import read_page
from writing.article import Article

_PAGE = """<html><head><title>Firing</title></head><body><h1>2.1 Firing a kiln</h1>
<p>A kiln is fired in <em>two</em> stages: “bisque” and glaze (see <a href="g.html">Glazes</a>).
It takes a day&nbsp;or more. Nothing may be opened.</p>
<ol><li>Load the shelves. <ul><li>Leave a finger's width.</li></ul></li><li>Light the burner.</li></ol>
<pre>kiln --cone 6 \\
     --hold 10</pre>
<table><tr><th>Cone</th><th>Heat</th></tr><tr><td>6</td><td>1222 °C</td></tr></table>
<h2>Notes</h2><div class="note"><p>Note</p><p>Wear gloves.</p></div>
<dl><dt>: <b>cone</b> ()</dt><dt>: <b>cone</b> (n)</dt><dd>Bends with heat.</dd></dl>
<pre>A damper is a plate in the chim-
ney.</pre></body></html>"""
_ARTICLE = """A kiln is fired in two stages: "bisque" and glaze. It takes a day or more. [1]

A kiln is fired in two stages: 'bisque' and glaze (see Glazes). […] Nothing may be opened. [1]

## Firing a…

1. Load the shelves. [1]
   - Leave a finger’s width. [1]
2. Light the burner. [1]

```
kiln --cone 6 \\
     --hold 10
```

| Cone | Heat |
| --- | --- |
| 6 | 1222 °C |

A damper is a plate in the chimney. [1]

> **Note:** Wear gloves. [1]

**cone (), cone (n)** – Bends with heat. [1]

```
cone ()
cone (n)
```

*There is more in the source: “Firing a kiln” and [“Notes”](https://example.org/#notes).* [1]

## See also

- Notes [1]
"""


@pytest.fixture
def pages() -> dict[int, PageText]:
    return {1: PageText.of(read_page("firing.html", _PAGE.encode()).text)}


def test_an_article_of_the_page_passes(pages: dict[int, PageText]) -> None:
    article = _ARTICLE.replace("'bisque'", "“bisque”")
    assert missing_quotations(article, pages) == []
    assert len(shown_parts(article)) == 20


@pytest.mark.parametrize(
    ("was", "becomes", "caught"),
    [
        ("two stages", "three stages", "in three stages"),
        ("It takes a day or more. [1]", "Nothing may be opened. [1]", "p: A kiln"),
        ("glaze (see Glazes)", "glaze (see Pots)", "p: A kiln"),
        ("[…] Nothing may", "Nothing may", "p: A kiln"),
        ("Light the burner", "Light the fire", "li: Light the fire"),
        ("a finger’s width", "a thumb’s width", "li: Leave"),
        ("--cone 6", "--cone 7", "pre: kiln --cone 7"),
        ("cone (n)\n", "cone (m)\n", "pre: cone ()"),
        ("cone ()\ncone (n)", "cone (n)\ncone ()", "pre: cone (n)"),
        ("cone (), cone (n)", "cone (), kiln (n)", "term: cone"),
        ("Wear gloves", "Wear boots", "p: Wear boots"),
        ("**Note:**", "**Danger:**", "term: Danger"),
        ("- Notes", "- Glazes of ash", "heading: Glazes of ash"),
        ("[“Notes”]", "[“Glazes of ash”]", "heading: Glazes of ash"),
        ("*There is more in the source: ", "*There* is more in the source: ", "p: There is more"),
        ("1222 °C", "1232 °C", "td: 1232 °C"),
        ("## Firing a…", "## More on kilns", "heading: More on kilns"),
        ("A damper is a plate", "The damper is a plate", "p: The damper"),
        ("Nothing may be opened", "nothing may be opened", "nothing may"),
    ],
)
def test_a_mutilated_article_is_caught(
    pages: dict[int, PageText], was: str, becomes: str, caught: str
) -> None:
    article = _ARTICLE.replace("'bisque'", "“bisque”")
    assert was in article
    missing = missing_quotations(article.replace(was, becomes), pages)
    assert missing
    assert all(caught in each for each in missing)


def test_a_quotation_belongs_to_the_page_it_cites(pages: dict[int, PageText]) -> None:
    both = {**pages, 2: PageText.of("Pots are thrown.")}
    assert missing_quotations("Pots are thrown. [2]", both) == []
    assert missing_quotations("Pots are thrown. [1]", both) == ["p: Pots are thrown."]


def test_a_bracket_with_a_call_in_it_may_be_missing() -> None:
    page = {
        1: PageText.of("Call add(), if a pipe (Process) or a socket (Tcp, Udp, etc.) has more (see set()).")
    }
    assert missing_quotations("Call add(), if a pipe or a socket (Tcp, Udp, etc.) has more. [1]", page) == []
    assert missing_quotations("Call add(), if a pipe or a socket (Tcp, Pipe, etc.) has more. [1]", page)


@pytest.mark.parametrize(
    ("body", "description", "text"),
    [
        ("**damper** – Opens the flue. [1]", "damper: Opens the flue.", "Opens the flue"),
        ("Opens the flue. [1]", "Kiln: Opens the flue.", "Opens the flue"),
        ("Opens the flue. [1]", "damper: Opens the flue.", "damper: Opens the flue"),
        ("Kilns need air: much of it. [1]", "Kilns need air: much of it.", "Kilns need air: much of it"),
    ],
)
def test_a_description_may_begin_with_the_name_of_an_entry(body: str, description: str, text: str) -> None:
    article = Article(
        title="Kiln dampers",
        slug="kiln",
        meta_description=description,
        body_markdown=body,
        word_count=3,
        key_points=(),
        cited=(1,),
        section=None,
        label="",
    )
    assert [each.text for each in told_by_description(article)] == [text]
