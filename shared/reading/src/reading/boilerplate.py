"""Recognises boilerplate of a page: notices, author boxes, offers, comments, navigation. Pure.

This looks at one page alone, not at what the pages of a folder repeat.
"""

import re
from itertools import pairwise
from typing import Final

from reading.cleaning import PhrasePatterns

# Words in classes and ids that templates use for such boxes, alone or as a part: "post-author-box".
_NAMES: Final = frozenset(
    "nav navbar navigation navheader navfooter navlinks navbox breadcrumb breadcrumbs menu submenu sidebar toc tableofcontents"  # noqa: SIM905
    " pagination pager footer footnote footnotes headerlink skip share sharing social cookie cookies consent gdpr"
    " newsletter subscribe subscription signup promo promotion advert adverts advertisement ads banner tagline slogan sponsor sponsored"
    " byline respond disqus commentlist related".split()
)
_PAIRS: Final = frozenset(
    "author-box author-bio author-info about-author comment-list comments-area comment-form post-comments"  # noqa: SIM905
    " post-navigation post-author prev-next call-action".split()
)
_ALONE: Final = frozenset({"comment", "comments", "author", "bio", "cta", "offer", "offers", "links"})
"""These are common words too, so they count only as a whole name."""
_WORDS: Final = re.compile(r"[a-z]+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")

_HEADINGS: Final = re.compile(
    r"(?:(?:\d{1,5}|no|one|two|three) )?(?:comments?|responses|replies|thoughts on .{1,120})"
    r"|leave a (?:reply|comment)|join the (?:discussion|conversation)|about the authors?"
    r"|(?:related|recent|popular|recommended|similar|more) (?:posts?|articles?|stories|reading|pages|content)"
    r"|you (?:may|might) also (?:like|enjoy)|share this(?: (?:post|article|page))?|(?:read|up) next|more from .{1,60}"
    r"|(?:subscribe|sign up)(?: (?:to|for) .{1,60})?|(?:our |the )?newsletter|follow us(?: on .{1,40})?"
    r"|advertisement|sponsored(?: content)?|table of contents|on this page|contents|search|navigation",
    re.IGNORECASE,
)

_SUBJECTS: Final = frozenset({"search", "navigation", "contents"})

MAX_NOTICE: Final = 500
"""Characters; longer paragraphs are not notices."""
NOTICES: Final = PhrasePatterns(
    (
        ("cookies",),
        r"\b(?:we|this (?:web)?site|our (?:web)?site)(?: and our partners)? uses? cookies\b",
    ),
    (("cookies",), r"\b(?:accept|manage|reject) (?:all )?cookies\b"),
    (
        ("you agree", "you accept", "you consent", "cookies"),
        r"\bby (?:continuing|clicking|using)\b.{0,80}\b(?:you (?:agree|accept|consent)|cookies)\b",
    ),
    (
        ("newsletter", "mailing list", "updates"),
        r"\b(?:subscribe|sign up)\b.{0,30}\b(?:our|the|my|weekly|free|monthly) .{0,30}\b(?:newsletter|mailing list|updates)\b",
    ),
    (
        ("code", "coupon"),
        r"\b(?:use|enter|with) (?:the )?(?:code|coupon|promo(?:tional)? code)\b.{0,40}(?:%|\boff\b|\bdiscount\b|\bcheckout\b)",
    ),
    (("%",), r"\b(?:get|save|take)\b.{0,20}\d{1,2} ?% (?:off|discount)\b"),
    (("offer ends", "time offer"), r"\boffer ends\b|\blimited[- ]time offer\b"),
    (
        ("writer", "journalist", "editor", "blogger", "columnist", "contributor"),
        r"\bis an? (?:\w+ ){0,3}(?:writer|journalist|editor|blogger|columnist|contributor)\b.{0,60}\b(?:at|for|based|who|with)\b",
    ),
    (
        ("follow ",),
        r"\bfollow (?:us|me|him|her|them) on (?:twitter|x|facebook|instagram|linkedin|mastodon|bluesky|youtube)\b",
    ),
    (("all rights reserved",), r"\ball rights reserved\b"),
    (("address will not be published",), r"\byour e-?mail address will not be published\b"),
    (("required fields are marked",), r"\brequired fields are marked\b"),
    (("javascript",), r"\b(?:please )?(?:enable|turn on) javascript\b"),
    (("affiliate links",), r"\bthis (?:post|article|page) (?:may contain|contains) affiliate links\b"),
    ((" associate",), r"\bas an? \w+ associate,? (?:i|we) earn\b"),
    (("share this ",), r"\bshare this (?:post|article|page)\b"),
    (("return to main contents",), r"^section: .{1,80}\breturn to main contents\b"),
    (("skip to ",), r"\bskip to (?:main )?content\b"),
    (("©", "(c)", "copyright"), r"^(?:©|\(c\)|copyright\W{0,3}(?:©|\(c\)|\d{4}|by\b))"),
)


def is_boilerplate_name(attribute: str | None) -> bool:
    """Return whether a class or id attribute marks its element as boilerplate."""
    return any(_is_name(name) for name in (attribute or "").split())


def _is_name(name: str) -> bool:
    words = _WORDS.findall(_CAMEL.sub("-", name).lower())
    if len(words) == 1 and words[0] in _ALONE:
        return True
    return not _NAMES.isdisjoint(words) or any("-".join(pair) in _PAIRS for pair in pairwise(words))


def is_boilerplate_heading(heading: str) -> bool:
    """Return whether the section under this heading is boilerplate."""
    return _HEADINGS.fullmatch(heading.strip(" :#¶").rstrip("!…")) is not None


def may_name_subject(heading: str) -> bool:
    """Return whether a boilerplate heading is a subject if there is text under it: the manual of a program has a "Search"."""
    return heading.strip(" :#¶").casefold() in _SUBJECTS


def is_notice(paragraph: str) -> bool:
    """Return whether a paragraph is about the site, its cookies, authors or offers instead of the subject."""
    return len(paragraph) <= MAX_NOTICE and NOTICES.matches(paragraph)
