"""Composes posts and drafts from a story: a sentence that makes readers look, at most a few more, and the link. Pure.

A post has whole sentences only. Those of a source are in quotation marks, with its name.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from social.channels import REMOTE, Channel, Facet
from social.channels.feed import FEED
from social.channels.lines import BULLET
from social.counting import utf8_bytes
from social.cutting import comparable, cut, without_mentions
from social.phrases import PostPhrases, phrases_of
from social.statements import Statement, is_on_subject, leans_on_others, names
from social.story import Story
from social.technical import has_code

_DASH: Final = "— "
_LEAST_HEADINGS: Final = 2
"""Fewer tell nothing about an article."""
_LONGEST_HEADING: Final = 60
_EMPTY_HEADINGS: Final = frozenset(
    {
        "see also",
        "introduction",
        "overview",
        "summary",
        "notes",
        "references",
        "further reading",
        "example",
        "examples",
    }
)
"""As `comparable`: they stand in many articles, and tell nothing about one."""
_MOST_SOURCES: Final = 3
_DETAILS: Final = (2, 1, 0)
"""How much is said about a source: its title, its author, its licence."""


@dataclass(frozen=True, slots=True)
class TextCount:
    unit: str
    used: int
    maximum: int


@dataclass(frozen=True, slots=True)
class ChannelDraft:
    """A draft for another channel. People copy `text`; `api_text` is the API's form if that differs."""

    channel: str
    text: str
    counts: tuple[TextCount, ...]
    facets: tuple[Facet, ...] = ()
    api_text: str | None = None


class UnfitStoryError(ValueError):
    """There is no post of this story for the channel; `reason` is a code for programs."""

    reason = "unfit"


class LinkTooLongError(UnfitStoryError):
    """The link alone exceeds the channel's limit."""

    reason = "link_too_long"


class NothingToSayError(UnfitStoryError):
    """The article has no sentence that could open a post, and no headings that ask: a post would only repeat the title."""

    reason = "nothing_to_say"


def drafts(story: Story) -> tuple[ChannelDraft, ...]:
    """A draft for each other channel, in the table's order; channels without a draft are left out."""
    return _drafts(story)


@lru_cache(maxsize=32)
def _drafts(story: Story) -> tuple[ChannelDraft, ...]:
    # A cache, since composing long texts takes time.
    return tuple(_possible(story))


def _possible(story: Story) -> Iterator[ChannelDraft]:
    for channel in REMOTE:
        if channel.network.drafted:
            try:
                yield compose(channel, story)
            except UnfitStoryError:
                continue


@dataclass(frozen=True, slots=True)
class _PostLayout:
    channel: Channel
    story: Story
    phrases: PostPhrases
    link: str | None
    invitation: str = ""
    headline: str = ""
    hook: str = ""
    points: tuple[str, ...] = ()
    origins: tuple[int, ...] = ()
    """Numbers of the sources of hook and points."""
    details: int = _DETAILS[0]
    headings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def text(self) -> str:
        # One item is no list.
        is_list = self.channel.network.bulleted and len(self.points) > 1
        bullet, gap = (BULLET, "\n") if is_list else ("", "\n\n")
        said = [self.hook, gap.join(bullet + each for each in self.points)]
        sources = self._sources()
        if sources:
            # Below what it belongs to; a list ends before it.
            said = ["\n\n".join(filter(None, said)) + ("\n\n" if self.points and bullet else "\n") + sources]
        inside = f"{self.phrases.inside}{' · '.join(self.headings)}" if self.headings else ""
        link = f"{self.invitation}{self.link}" if self.link else ""
        blocks = (self.headline, *said, inside, link, " ".join(self.tags))
        return "\n\n".join(block for block in blocks if block)

    def fits(self) -> bool:
        text = self.text()
        return all(limit.holds(text) for limit in self.channel.limits)

    def with_statement(self, text: str, origin: int) -> "_PostLayout":
        """With the text as the hook, or else as a further point."""
        shown = without_mentions(text)
        if origin:
            opened, closed = self.phrases.quotes
            shown = f"{opened}{shown.translate(_INNER_QUOTES)}{closed}"
        origins = (*self.origins, origin) if origin and origin not in self.origins else self.origins
        if not self.hook:
            return replace(self, hook=shown, origins=origins)
        return replace(self, points=(*self.points, shown), origins=origins)

    def _sources(self) -> str:
        cited = [self.story.sources[origin - 1] for origin in sorted(self.origins)][:_MOST_SOURCES]
        if not cited:
            return ""
        author = _common(source.author for source in cited) if self.details > 0 else None
        licence = _common(source.licence for source in cited) if self.details > 1 else None
        titles = dict.fromkeys(source.title for source in cited)
        # The headline above may have said the title.
        shown = [each for each in titles if not author or comparable(each) != comparable(self.headline)]
        # "by" needs a title before it.
        by = author and (f"{self.phrases.by}{author}" if shown else author)
        told = ", ".join(filter(None, ("; ".join(shown), by)))
        return without_mentions(f"{_DASH}{told} ({licence})" if licence else f"{_DASH}{told}")


def _common(values: Iterable[str | None]) -> str | None:
    """The value that all have; None if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


_INNER_QUOTES: Final = str.maketrans('“”„«»"', "‘’‚‹›'")  # noqa: RUF001


def compose(channel: Channel, story: Story) -> ChannelDraft:
    """Composes a post for `channel`: link and first statement whole, other parts only if they fit.

    Raises:
        LinkTooLongError: the link does not fit.
        NothingToSayError: no statement fits, and no heading asks a question.
    """
    phrases = phrases_of(story.language)
    layout = _PostLayout(channel, story, phrases, story.link)
    if not layout.fits():
        raise LinkTooLongError(channel.name)
    if channel.network.invites:
        layout = _grown(layout, replace(layout, invitation=phrases.read))
    opened = next(filter(_PostLayout.fits, _openings(layout)), None)
    if opened is None:
        opened = _without_statement(layout)
    return _draft(channel, _filled(opened))


def _openings(layout: _PostLayout) -> Iterator[_PostLayout]:
    """The layouts with a first statement, the best first: hooks in turn, so that channels begin differently."""
    hooks, place = layout.story.hooks, layout.channel.network.opening
    turned = hooks[place % len(hooks) :] + hooks[: place % len(hooks)] if hooks else ()
    for statement in turned:
        named = _with_headline(layout, statement)
        for details in _DETAILS if statement.origin else _DETAILS[:1]:
            for text in statement.beginnings():
                yield replace(named, details=details).with_statement(text, statement.origin)


def _with_headline(layout: _PostLayout, statement: Statement) -> _PostLayout:
    """With the title, if the channel shows it, or if the statement does not say what it is about."""
    story, network = layout.story, layout.channel.network
    first = statement.sentences[0]
    if network.name == FEED or not (network.headline or _is_unclear(first, story)):
        return layout
    # The line of the source says it already.
    if (
        not network.headline
        and statement.origin
        and _is_title(story.sources[statement.origin - 1].title, story)
    ):
        return layout
    return replace(layout, headline=without_mentions(story.title))


def _is_unclear(sentence: str, story: Story) -> bool:
    return not names(sentence, story.keyword) and comparable(story.title) not in comparable(sentence)


def _is_title(text: str, story: Story) -> bool:
    return comparable(text) == comparable(story.title)


def _without_statement(layout: _PostLayout) -> _PostLayout:
    story = layout.story
    if layout.channel.name == FEED:
        # The feed shows the title by itself, and has a post of each article.
        # What cannot be read alone is no post: an article that quotes is listed there by its title.
        text = story.title if story.sources else story.description or story.title
        return layout.with_statement(cut(text, lambda piece: layout.with_statement(piece, 0).fits()), 0)
    named = replace(layout, headline=without_mentions(story.title), headings=_headings(story, 4))
    asks = any(each.endswith("?") for each in named.headings)
    if not (layout.phrases.inside and asks and len(named.headings) >= _LEAST_HEADINGS and named.fits()):
        raise NothingToSayError(layout.channel.name)
    return named


def _filled(layout: _PostLayout) -> _PostLayout:
    """Adds hashtags, further statements and headings, in that order, while they fit."""
    network, story = layout.channel.network, layout.story
    for tag in story.tags[: network.hashtags]:
        layout = _grown(layout, replace(layout, tags=(*layout.tags, tag)))
    if layout.hook and story.hooks:
        layout = _with_points(layout)
    headings = _headings(story, network.headings) if layout.phrases.inside and not layout.headings else ()
    if len(headings) >= _LEAST_HEADINGS:
        layout = _grown(layout, replace(layout, headings=headings))
    return layout


def _with_points(layout: _PostLayout) -> _PostLayout:
    """With as many further statements as fit, in the order of the article; those of the sources quoted so far come first.

    Details of the article's parts stand in a list only, where each is for itself.
    """
    said, story = comparable(layout.hook), layout.story
    network = layout.channel.network
    others = [
        each
        for each in story.statements
        if comparable(each.sentences[0]) not in said
        and (network.bulleted or is_on_subject(each, story.keyword))
        # Further sentences of a manual are details for those who know it.
        and not (each.origin and (story.is_manual or has_code(each.sentences[0])))
    ]
    others.sort(key=lambda each: bool(layout.origins) and each.origin not in layout.origins)
    chosen: list[Statement] = []
    for each in others:
        told = " ".join((story.title, layout.hook, *(one.sentences[0] for one in chosen)))
        if each.origin and leans_on_others(each.sentences[0], told):
            continue
        if len(chosen) < network.points and _with_all(layout, [*chosen, each]).fits():
            chosen.append(each)
    places = {each.sentences[0]: place for place, each in enumerate(story.statements)}
    return _with_all(layout, sorted(chosen, key=lambda each: places[each.sentences[0]]))


def _with_all(layout: _PostLayout, statements: Iterable[Statement]) -> _PostLayout:
    for each in statements:
        layout = layout.with_statement(each.sentences[0], each.origin)
    return layout


def _headings(story: Story, most: int) -> tuple[str, ...]:
    """Headings that tell what else is in the article."""
    known = {comparable(story.title), comparable(story.keyword), *_EMPTY_HEADINGS}
    kept = (
        each
        for each in story.headings
        if len(each) <= _LONGEST_HEADING
        and comparable(each) not in known
        and not has_code(each)
        # A word alone is a part of the program.
        and not (story.is_manual and len(each.split()) == 1)
    )
    distinct = tuple(without_mentions(each) for each in dict.fromkeys(kept))
    asking = tuple(each for each in distinct if each.endswith("?"))
    # Of the frequent questions of a manual, the headings between them are none.
    return (asking if story.is_manual and len(asking) >= _LEAST_HEADINGS else distinct)[:most]


def _grown(layout: _PostLayout, larger: _PostLayout) -> _PostLayout:
    return larger if larger.fits() else layout


def _draft(channel: Channel, layout: _PostLayout) -> ChannelDraft:
    text = layout.text()
    return ChannelDraft(
        channel=channel.name,
        text=text,
        counts=tuple(TextCount(limit.unit, limit.count(text), limit.maximum) for limit in channel.limits),
        facets=tuple(_facets(text, layout)) if channel.network.has_facets else (),
        api_text=channel.escape(text) if channel.escape else None,
    )


def _facets(text: str, layout: _PostLayout) -> Iterator[Facet]:
    """Facets for the link and the hashtags that `compose` added at the end of the text."""
    end = len(text)
    found = []
    for tag in reversed(layout.tags):
        start = text.rindex(tag, 0, end)
        found.append((start, tag, "tag", tag[1:]))
        end = start
    if layout.link:
        found.append((text.rindex(layout.link, 0, end), layout.link, "link", layout.link))
    for start, part, kind, target in reversed(found):
        offset = utf8_bytes(text[:start])
        yield Facet(offset, offset + utf8_bytes(part), kind, target)
