"""A page's boilerplate stays out of passages; text that only looks like it stays in."""

import pytest

from reading.document import ExtractedDocument
from reading.extraction import extract

FIRST = "Grind the beans to a medium size before you brew, and weigh them with a scale."
SECOND = "Use water of about ninety degrees for a light roast, and pour it in a thin stream."
LINKS = "".join(f'<a href="{n}.html">Page {n} is about this.</a> ' for n in range(6))


def page(body: str) -> ExtractedDocument:
    return extract("page.html", f"<title>Brewing</title><body><h1>Brewing</h1>{body}</body>".encode())


def texts(document: ExtractedDocument) -> str:
    return "\n\n".join(passage.text for passage in document.passages)


@pytest.mark.parametrize(
    "boilerplate",
    [
        '<div class="site-navigation"><p>{}</p></div>',
        '<div class="mainMenu"><p>{}</p></div>',
        '<div class="cookie-consent-banner"><p>{}</p></div>',
        '<div class="tagline desktoponly">{}</div>',
        '<div class="wp-newsletter-signup"><p>{}</p></div>',
        '<div class="post-author-box"><p>{}</p></div>',
        '<section class="comments"><p>{}</p></section>',
        '<article class="post-comments"><p>{}</p></article>',
        '<div id="disqus_thread"><p>{}</p></div>',
        f"<div class='x17'>{LINKS}<span>{{}}</span></div>",
        f"<div><div class='zz'><div>{LINKS}</div><div>{{}}</div></div></div>",
        "<h2>3 Comments</h2><h3>Jane</h3><p>{}</p>",
        "<h2>Leave a reply</h2><p>{}</p>",
        "<h2>About the author</h2><p>{}</p>",
        "<h2>You may also like</h2><p>{}</p>",
    ],
)
def test_furniture_is_left_out_whatever_it_is_called(boilerplate: str) -> None:
    document = page(
        f"<p>{FIRST}</p><p>{SECOND}</p>" + boilerplate.format("Praise the seller with many words now.")
    )
    assert texts(document) == f"{FIRST}\n\n{SECOND}"


@pytest.mark.parametrize(
    "notice",
    [
        "We use cookies to give you the best experience on our website.",
        "By continuing to browse this site you agree to our use of cookies.",
        "Subscribe to our free weekly newsletter and never miss a recipe.",
        "Use the code BREW20 for 20 % off your first order with us.",
        "Jane Doe is a freelance writer who lives in Vienna with two cats.",
        "Follow us on Instagram for more of what we do every day.",
        "Copyright 2019 by the makers of this site; all rights reserved.",
        "Your email address will not be published, so do not worry.",
        "This post contains affiliate links that pay for our coffee.",
    ],
)
def test_notices_are_known_by_their_words(notice: str) -> None:
    assert texts(page(f"<div><p>{FIRST}</p><p>{notice}</p><p>{SECOND}</p></div>")) == f"{FIRST}\n\n{SECOND}"


@pytest.mark.parametrize(
    "chapter",
    [
        '<section id="related-objects"><h2>Related objects</h2><p>{}</p></section>',
        '<div class="section" id="cookie-handling"><h2>Cookie handling</h2><p>{}</p></div>',
        '<section id="menu"><h2>The menu of a grinder</h2><p>{}</p></section>',
        "<h2>Comments in code</h2><p>{}</p>",
        '<div class="social-history-of-coffee"><h2>A history</h2><p>{}</p></div>'.replace("social-", ""),
    ],
)
def test_a_chapter_about_such_a_thing_is_none(chapter: str) -> None:
    filler = f"<p>{FIRST}</p>" * 3
    assert SECOND in texts(page(filler + chapter.format(SECOND)))


def test_a_text_with_many_links_is_no_navigation() -> None:
    linked = 'Use <a href="a">water</a> of about <a href="b">ninety degrees</a> for a <a href="c">light roast</a>, and wait for a while.'
    assert "ninety degrees" in texts(page(f"<p>{FIRST}</p><div>{linked}</div>"))


def test_cookies_may_be_what_a_text_is_about() -> None:
    about = "A browser keeps a cookie until it expires, and sends it along with each request to the site."
    assert about in texts(page(f"<p>{FIRST}</p><p>{about}</p>"))
