"""What generators of documentation and of sites write: listings, formulas, footnotes, tables and titles of each."""

import json

import pytest

from documents.json_form import encode_block
from documents.sections import Section
from reading.extraction import extract


def tree(body: str, title: str = "Kilns", head: str = "") -> Section:
    html = f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    sections = extract("book/kilns.html", html.encode()).sections
    assert sections is not None
    return sections


def blocks(body: str, head: str = "") -> str:
    """The blocks of a page in JSON, without the signs that all have."""
    encoded = [encode_block(block) for _, section in tree(body, head=head).walk() for block in section.blocks]
    return " ".join(json.dumps(block, ensure_ascii=False)[1:-1].replace('"', "") for block in encoded)


LISTINGS = [
    # Doxygen: lines are boxes, with their numbers and tooltips.
    (
        (
            '<div class="fragment"><div class="line"><a id="l1"></a><span class="lineno"> 1</span> <span class="comment">/* Heats. */</span></div>\n'
            '<div class="line"><span class="lineno"> 2</span> <span class="keyword">void</span> heat();</div>\n<div class="line"> </div>\n'
            '<div class="line">  // on</div>\n<div class="ttc"><div class="ttname">heat</div></div></div>'
        ),
        "code: [/* Heats. */, void heat();, ,  // on]",
    ),
    # Prism and Docusaurus: a line ends in a break, or is a box.
    (
        (
            '<pre class="prism-code"><code><span class="token-line"><span class="token comment"># on</span><br></span>'
            '<span class="token-line">kiln on<br></span></code></pre>'
        ),
        "code: [# on, kiln on]",
    ),
    (
        (
            '<pre><code><div class="ec-line"><div class="code">on</div></div><div class="ec-line"><div class="code">\n</div></div>'
            '<div class="ec-line"><div class="code">off</div></div></code></pre>'
        ),
        "code: [on, , off]",
    ),
    # Hugo, Pygments, SyntaxHighlighter: a column of numbers.
    (
        (
            '<table class="lntable"><tr><td class="lntd"><pre><code><span class="lnt">1\n</span><span class="lnt">2\n</span></code></pre></td>'
            '<td class="lntd"><pre><code><span class="line">on\n</span><span class="line">off\n</span></code></pre></td></tr></table>'
        ),
        "code: [on, off]",
    ),
    (
        (
            '<div class="syntaxhighlighter"><table><tr><td class="gutter"><div class="line">1</div><div class="line">2</div></td>'
            '<td class="code"><div class="line"><code>on</code></div><div class="line"><code>off</code></div></td></tr></table></div>'
        ),
        "code: [on, off]",
    ),
    # A paragraph of nothing but code.
    ("<p><code>kiln on<br>kiln off</code></p>", "code: [kiln on, kiln off]"),
    (
        "<p><code>kiln on</code></p><ul><li><code>kiln off</code></li></ul>",
        "code: [kiln on] ul: [[{p: kiln off}]]",
    ),
    ('<div class="codeBlockTitle_x">kiln.sh</div><pre>on</pre>', "label: kiln.sh code: [on]"),
    ('<div class="member-signature"><span>void</span>&nbsp;<span>heat</span></div>', "code: [void heat]"),
]


@pytest.mark.parametrize(("html", "shown"), LISTINGS)
def test_listings_keep_all_that_their_highlighter_marks(html: str, shown: str) -> None:
    assert blocks(html) == shown


MATHJAX = '<script src="https://cdn.example/mathjax/tex.js"></script>'
FORMULAS = [
    ('<p>In <img class="formulaInl" alt="{\\LaTeX}" src="f.png"> and <img alt="$(x_1,y^{2})$">.</p>', "", "p: In LaTeX and (x_1,y^2)."),
    ('<p>It is <img class="math" alt="\\sqrt{x}"> hot.</p>', "", "gap: formula"),
    ('<p>It is <span class="math inline">\\(x^{2}\\)</span> hot.</p>', "", "p: It is x^2 hot."),
    ('<p>It is <span class="math">\\(x^{n+1}\\)</span> hot.</p>', "", "gap: formula"),
    ('<p>It is <span class="math inline"><em>x</em><sup>2</sup></span> hot.</p>', "", "gap: formula"),
    (
        ('<p>It is <span class="katex"><span class="katex-mathml"><math><msup><mi>x</mi><mn>2</mn></msup><annotation encoding="application/x-tex">x^2'
        '</annotation></math></span><span class="katex-html">x2</span></span> hot.</p>'),
        "",
        "p: It is x^2 hot.",
    ),
    ('<p>It is <script type="math/tex">\\frac{a}{b}</script> hot.</p>', "", "gap: formula"),
    ("<p>It is \\(\\frac{a}{b}\\) hot.</p>", MATHJAX, "gap: formula"),
    ("<p>Type \\(clay\\) for it.</p>", "", "p: Type \\\\(clay\\\\) for it."),
    ('<div class="stemblock"><div class="content">\\[x\\]</div></div>', "", "gap: formula"),
    ('<table><tr><th>a<th>b<tr><td>1<td><img class="math" alt="x"></table>', "", "gap: table"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "head", "shown"), FORMULAS)
def test_formulas_are_plain_text_or_a_gap(html: str, head: str, shown: str) -> None:
    assert blocks(html, head) == shown


FOOTNOTES = [
    ("<p>It is hot<sup>[1]</sup>. </p><p> <sup>[1]</sup> Very.</p>", "p: It is hot."),
    ('<p>It is hot <a class="footnote-reference" href="#n">1</a>.</p>', "p: It is hot."),
    ('<p>It is hot<a id="D1" href="#F1"><sup>1</sup></a>, in kilns.</p>', "p: It is hot, in kilns."),
    (
        '<p>It is hot<a href="#n1">[1]</a>.</p><p><a href="#r1">[1]</a> Very.</p><p>Now.</p>',
        "p: It is hot. p: Now.",
    ),
    ('<dl class="footnote brackets"><dt>1</dt><dd>Very.</dd></dl><p>Now.</p>', "p: Now."),
    ("<p>10<sup>2</sup> m<sup>-1</sup></p>", "p: 10^2 m^-1"),
    (
        '<p>See <a href="#other">the kiln</a>.</p>',
        "p: See the kiln., links: [[4, 12, book/kilns.html#other]]",
    ),
]


@pytest.mark.parametrize(("html", "shown"), FOOTNOTES)
def test_marks_of_footnotes_are_left_out_with_their_texts(html: str, shown: str) -> None:
    assert blocks(html) == shown


TABLES = [
    # A row that spans the table names those below it; names with nothing to say about them stay.
    (
        ("<table><tr><td colspan=3><b>options</b></td></tr><tr><td></td><td>-h</td><td>heat it now</td></tr><tr><td></td><td>-c</td>"
        "<td>cool it now</td></tr><tr><td colspan=3>Common options</td></tr></table>"),
        "dl: [[[options], [{dl: [[[-h], [{p: heat it now}], ], [[-c], [{p: cool it now}], ]]}], ]]",
    ),
    (
        "<table><tr><th>Clay<th>Heat<tr><td colspan=2>Warm<tr><td>Red<td>900<tr><td colspan=2>Hot<tr><td>White<td>1200</table>",
        "label: Warm table: [[Red, 900]], head: [Clay, Heat], caption:  label: Hot table: [[White, 1200]], head: [Clay, Heat], caption: ",
    ),
    # Names and explanations without a head are a list of definitions; figures are not.
    (
        "<table><tr><td>on<td>heats the kiln<tr><td>off<td>lets it cool</table>",
        "dl: [[[on], [{p: heats the kiln}], ], [[off], [{p: lets it cool}], ]]",
    ),
    ("<table><tr><td>1<td>900<tr><td>2<td>950</table>", "table: [[1, 900], [2, 950]], head: [], caption: "),
    (
        "<table><tr><td><b>Clay</b><td><p><b>Heat</b></p><tr><td>Red<td>900</table>",
        "table: [[Red, 900]], head: [Clay, Heat], caption: ",
    ),
    # Links in cells are text.
    (
        '<table><tr><th>a<th>b<tr><td><a href="x">x</a>, <a href="y">y</a>, <a href="z">z</a><td>1</table>',
        "table: [[x, y, z, 1]], head: [a, b], caption: ",
    ),
    # Commands and items that would run together.
    ("<table><tr><th>a<th>b<tr><td>1<td><p><code>kiln on</code></p><p><code>kiln off</code> now</p></table>", "gap: table"),
    ("<table><tr><th>a<th>b<tr><td>1<td><ul><li>on<li>off</ul></table>", "gap: table"),
    # A drawing; signs in one column are data.
    ("<table><tr><td>Clay<td>-><td>Kiln<td>-><td>Pot<tr><td><td>\\<td><td>/<td></table>", "gap: table"),
    ("<table><tr><td>&lt;<td>less<tr><td>|<td>or</table>", "dl: [[[<], [{p: less}], ], [[|], [{p: or}], ]]"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "shown"), TABLES)
def test_tables(html: str, shown: str) -> None:
    assert blocks(html) == shown


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        # An explanation that is left out does not make its term one of the next.
        ("<dl><dt>rights</dt><dd>Copyright 2020 Ann.</dd><dt>heat</dt><dd>Copyright is not heat.</dd></dl>",
         "dl: [[[rights], [], ], [[heat], [{p: Copyright is not heat.}], ]]"),
        # Doxygen's sections: an example is no term.
        ('<dl class="section user"><dt>Example:</dt><dd>Heat it:<pre>on</pre></dd></dl><dl class="section see"><dt>See also</dt><dd>x</dd></dl>',
         "label: Example: p: Heat it: code: [on]"),
        # The definitions of a list may be links.
        (
            '<dl><dt>none</dt><dd><a href="#a">No heat.</a></dd><dt>may</dt><dd><a href="#b">Some heat.</a></dd></dl>',
            "dl: [[[none], [{p: No heat., links: [[0, 8, book/kilns.html#a]]}], ], [[may], [{p: Some heat., links: [[0, 10, book/kilns.html#b]]}], ]]",
        ),
        ("<figure><table><tr><th>a<th>b<tr><td>1<td>2</table><figcaption>Heats</figcaption></figure><p>Now.</p>",
         "table: [[1, 2]], head: [a, b], caption:  p: Now."),
        ('<div class="tabbed-labels"><label>Linux</label><label>macOS</label></div><p>Heat it.</p>', "p: Heat it."),
        ('<aside class="starlight-aside starlight-aside--note"><p>It is hot.</p></aside><aside class="left">Ads</aside>', "p: It is hot."),
        ('<p>A kiln<sup class="reference"><a href="#c">[1]</a></sup>.</p><ol class="references"><li>Smith.</li></ol>', "p: A kiln."),
        # QDoc: a link to the details, members that are listed without a word, a note that says so twice.
        ('<p>The kiln holds heat. <a href="#details">More...</a></p><table class="alignedsummary"><tr><td>int</td><td>heat()</td></tr></table>',
         "p: The kiln holds heat."),
        ('<p>The kiln holds heat.</p><div class="admonition note"><p><b>Note: </b>Hot.</p></div>',
         "p: The kiln holds heat. note: [{p: Hot.}], title: Note"),
        # Members that only refer to others, and a sentence that does not.
        ('<p><b>See also </b><a href="#b">heat</a>().</p><p>Reimplements: <a href="#c">Kiln::fire</a>(Clay clay).</p><p>See also the lid.</p>',
         "p: See also the lid."),
        # A picture is what a colon leads up to.
        ('<ul><li>It looks like:<br>\n<img src="k.png"> when it is hot.</li></ul><p>Press <img src="i.png"> now.</p><p>Like so:</p><p><img src="k.png"></p>',
         "ul: [[{p: It looks like:}, {gap: figure}, {p: when it is hot.}]] p: Press now. p: Like so: gap: figure"),
    ],
)  # fmt: skip
def test_what_else_is_text(html: str, shown: str) -> None:
    assert blocks(html) == shown


TEMPLATE = """
NAME
       kiln - heats pots

DESCRIPTION
       A note for potters begins with a comment, and ends with the word EOF. Here is an example:

           # The note of the morning.

           note = &lt;&lt;EOF
           Kiln: hot

           I have to tell you that the kiln is hot now, and that the pots
           must be left inside.

                     The potters
           EOF

       Restrictions hold for every note that the potters of this kiln write.
"""


def test_a_template_with_sentences_in_it_is_one_listing() -> None:
    shown = blocks(f"<pre>{TEMPLATE}</pre>")
    assert "Here is an example: code: [# The note" in shown
    assert shown.endswith("EOF] p: Restrictions hold for every note that the potters of this kiln write.")


TEXT = "<p>Heat the kiln slowly.</p>"


@pytest.mark.parametrize(
    ("title", "body"),
    [
        (
            "Pottery: Kilns",
            f'<div class="header"><div class="headertitle"><div class="title">Kilns</div></div></div>{TEXT}',
        ),
        ("Kilns - Pottery", f"<h1>Kilns</h1>{TEXT}"),
        ("Kilns — Pottery 1.0 documentation", f"<section><h1>Kilns</h1>{TEXT}</section>"),
        ("Kilns", f'<h1><span class="header-section-number">1</span> Kilns</h1>{TEXT}'),
    ],
)
def test_a_title_has_no_site_in_it_if_the_heading_has_none(title: str, body: str) -> None:
    page = tree(body, title=title)
    assert (page.title, page.own_words, page.children) == ("Kilns", 4, ())


def test_a_title_of_its_own_stays_with_its_heading() -> None:
    page = tree(f"<h1>Kilns</h1>{TEXT}", title="Kilns and clay")
    assert (page.title, [each.title for each in page.children]) == ("Kilns and clay", ["Kilns"])


def test_a_list_of_sections_is_no_list() -> None:
    page = tree(
        f"<ul><li><section><h2>Heat</h2>{TEXT}</section></li><li><section><h2>Cool</h2>{TEXT}</section></li></ul>"
    )
    assert [(each.title, each.own_words) for each in page.children] == [("Heat", 4), ("Cool", 4)]


def test_a_heading_like_search_is_a_subject_if_there_is_text_under_it() -> None:
    page = tree(f"{TEXT}<h2>Search</h2>{TEXT * 10}<h2>Navigation</h2>{TEXT}")
    assert [each.title for each in page.children] == ["Search"]


def test_lines_that_docbook_laid_out_have_headings_and_lists() -> None:
    lines = (
        "", "Requirements", "------------", "- You need a kiln of brick.", "- To fire it, a night without rain is recommended.",
        "  Older kilns may work, too.", "", "Limits", "------", "Nobody has fired the kiln above its limit, which is told in",
        "the paper that came with it.",
    )  # fmt: skip
    section = tree(
        f'<h1>README.kilns</h1><div class="literallayout"><p>{"<br>".join(each + chr(10) for each in lines)}</p></div>'
    )
    requirements, limits = section.children[0].children
    assert (requirements.title, limits.title) == ("Requirements", "Limits")
    (listed,) = requirements.blocks
    assert "Older kilns may work, too." in json.dumps(encode_block(listed))
    assert "------" not in json.dumps(
        [encode_block(each) for _, part in section.walk() for each in part.blocks]
    )


def test_terms_of_a_manual_without_a_text_of_their_own_share_the_next_one() -> None:
    lines = (
        "NAME", "       kilnd - fires kilns", "", "DESCRIPTION", "       The kiln answers:", "",
        "       OK reason", "              The kiln is hot.", "", "       COLD reason", "", "       WET reason", "", "       BROKEN reason",
        "              The request failed. The reason is text for people, and not for programs.",
    )  # fmt: skip
    shown = blocks("<pre>" + "\n".join(lines) + "</pre>")
    assert "[COLD reason, WET reason, BROKEN reason], [{p: The request" in shown


def test_a_comment_of_a_script_is_no_term() -> None:
    script = "# for gas kilns\nFLAGS=1 \\\n   ./configure --gas\n"
    prose = "The kiln is built on the machine that shall run it, as every maker of kilns has told his people so far.\n\n"
    assert "terms" not in blocks(f"<pre>{prose}{script}\n{script}</pre>")
