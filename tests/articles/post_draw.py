"""Draws posts about articles without a model, and prints them whole for readers.

The posts are those that the services send: the orchestrator's context of each article, and the texts that `social` composes of it.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from envelope.brand.payloads import Picture, SocialCreate
from orchestrator.article_workflow.post_material import context_of
from orchestrator.article_workflow.versions import text_of
from reading.works import FILE_NAME, UNSTATED, StatedWork, parse_work
from social.channels import BUILT_IN, REMOTE, Channel, ComposedPost
from social.domain import PostRefusal, plan, post_id
from social.sending.domain import ChannelRules, PostMaterial, facets, said
from tests.articles.__main__ import draw_keywords
from tests.articles.article_runs import OFF_TOPIC, ArticleRun, write_articles
from tests.articles.documentations import CORPORA, folder_of
from tests.articles.keyword_draw import SEED
from writing.article import ArticleSource
from writing.body import Body

_SITE: Final = "https://blog.example.org"
_ARTICLES: Final = UUID("3f2b8d52-7a0c-5f0e-9f58-6a4d0e3f9b11")
_SENT_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_DRAWN: Final = 20
"""So many articles without a post in a row, and a collection gives none in this round."""
_MOST_OF_AN_ARTICLE: Final = 2
"""Posts on more channels would count one sentence several times."""


@dataclass(frozen=True, slots=True)
class DrawnPost:
    """A post of an article on a channel, or the reason why there is none."""

    documentation: str
    keyword: str
    channel: str
    text: str
    refusal: str = ""
    sent: str = ""
    """What is sent to the channel, as JSON; empty for the feed."""

    @property
    def subject(self) -> str:
        """Its name among the verdicts."""
        return f"{self.keyword} ({self.channel})"


def post_of(run: ArticleRun, documentation: str, channel: Channel, work: StatedWork) -> DrawnPost:
    """Composes the post of an article for a channel, as the services do for a brand without rules of its own."""
    command = _command(run, documentation, work)
    if channel is BUILT_IN:
        post = plan(command).post
        assert post is not None
        assert post.story is not None
        if not post.story.hooks and post.text == post.title:
            why = f"{post.story.why_silent}: the feed lists the article by its title"
            return DrawnPost(documentation, run.drawn.keyword, channel.name, "", why)
        shown = "\n\n".join(filter(None, (post.title, post.text, post.link, " ".join(post.tags))))
        return DrawnPost(documentation, run.drawn.keyword, channel.name, shown)
    material = PostMaterial.of(command)
    text = said(channel, material, ChannelRules())
    if isinstance(text, PostRefusal):
        return DrawnPost(documentation, run.drawn.keyword, channel.name, "", text.detail)
    assert channel.sending is not None
    story = material.story
    prepared = channel.sending.prepare(
        ComposedPost(
            post_id=post_id(command.content_id, channel.name),
            brand_slug=command.brand_slug,
            content_id=command.content_id,
            title=story.title,
            description=story.description,
            text=text.text,
            link=story.link,
            placement=text.placement,
            facets=facets(text.text, story.link, text.tags, edited=False),
            hashtags=text.tags,
            pictures=material.pictures,
            language=material.language,
        ),
        _SENT_AT,
    )
    sent = json.dumps(prepared, indent=1, ensure_ascii=False, default=str)
    # A webhook gets the link beside the text, as a field.
    shown = text.text if not story.link or story.link in text.text else f"{text.text}\n\n{story.link}"
    return DrawnPost(documentation, run.drawn.keyword, channel.name, shown, sent=sent)


def _command(run: ArticleRun, documentation: str, work: StatedWork) -> SocialCreate:
    if run.article is None:
        raise ValueError(f"there is no article on {run.drawn.keyword!r}")
    text = text_of(run.article, [_stated(each, work) for each in run.sources], ())
    keyword = run.drawn.keyword
    return SocialCreate(
        brand_slug=documentation,
        content_id=uuid5(_ARTICLES, f"{documentation}/{keyword}"),
        article_context=context_of(
            title=text.title,
            keyword=keyword,
            meta_description=text.meta_description,
            key_points=text.key_points,
            body=Body(text.body_markdown),
            sources=text.sources,
        ),
        published_url=f"{_SITE}/{run.article.slug}",
        picture=Picture(
            url=f"{_SITE}/cover.png",
            alt=text.title,
            media_type="image/png",
            width=1200,
            height=630,
            jpeg_url=f"{_SITE}/cover.jpg",
        ),
        language="en",
    )


def _stated(source: ArticleSource, work: StatedWork) -> ArticleSource:
    """The source with what the folder's `sources.toml` states, as research adds it."""
    return replace(
        source,
        author=source.author or work.author,
        licence=source.licence or work.licence,
        work=work.title,
    )


def work_of(folder: Path) -> StatedWork:
    """What the folder states about its documents."""
    file = folder / FILE_NAME
    return parse_work(file.read_bytes()) if file.is_file() else UNSTATED


def draw_posts(
    articles: Mapping[str, Sequence[ArticleRun]], works: Mapping[str, StatedWork], seed: str, most: int
) -> Iterator[DrawnPost]:
    """Draws posts over channels and collections in turn; refused ones come beside the `most` that could be sent.

    There are fewer if no collection has another article with a post.
    """
    draw = random.Random(seed)
    channels = [BUILT_IN, *(channel for channel in REMOTE if channel.sending is not None)]
    draw.shuffle(channels)
    pools = {name: draw.sample(list(runs), len(runs)) for name, runs in articles.items() if runs}
    names = cycle(draw.sample(sorted(pools), len(pools)))
    nexts = {name: cycle(pool) for name, pool in pools.items()}
    posts_of: Counter[tuple[str, str]] = Counter()
    silent = 0
    for place, name in enumerate(names):
        if posts_of.total() == most or silent == len(pools):
            return
        silent += 1
        # Each round of the collections begins at another channel, so that each gets all of them.
        channel = channels[(place + place // len(pools)) % len(channels)]
        for run in islice(nexts[name], min(_MOST_DRAWN, len(pools[name]))):
            if posts_of[name, run.drawn.keyword] == _MOST_OF_AN_ARTICLE:
                continue
            post = post_of(run, name, channel, works[name])
            yield post
            if not post.refusal:
                posts_of[name, run.drawn.keyword] += 1
                silent = 0
                break


def page_of(posts: Iterable[DrawnPost], *, with_sent: bool) -> str:
    """The posts one after the other, for readers."""
    return "\n".join(_shown(number, post, with_sent) for number, post in enumerate(posts, start=1))


def _shown(number: int, post: DrawnPost, with_sent: bool) -> str:
    head = (
        f"=== {number}. {post.channel}: {post.keyword} ({post.documentation}), {len(post.text)} characters\n"
    )
    if post.refusal:
        return f"{head}\nNo post: {post.refusal}\n"
    return f"{head}\n{post.text}\n" + (f"\n--- sent\n{post.sent}\n" if with_sent and post.sent else "")


def blind_page_of(posts: Iterable[DrawnPost]) -> str:
    """The posts alone, for readers who shall not know how they came about."""
    kept = (post for post in posts if not post.refusal)
    return "\n".join(
        f"=== {number}. {post.channel}\n\n{post.text}\n" for number, post in enumerate(kept, start=1)
    )


def tally_of(posts: Sequence[DrawnPost]) -> str:
    """How many posts of each collection were drawn, and how many were refused, with the reasons."""
    lines = []
    for name in sorted({post.documentation for post in posts}):
        of_name = [post for post in posts if post.documentation == name]
        refused = [post for post in of_name if post.refusal]
        lines.append(f"{name}: {len(of_name) - len(refused)} posts, {len(refused)} refused")
    reasons = Counter(post.refusal.partition(":")[0] for post in posts if post.refusal)
    lines += [f"{n} refused: {reason}" for reason, n in reasons.most_common()]
    return "\n".join(lines)


def blank_verdicts(posts: Iterable[DrawnPost]) -> dict[str, Any]:
    """A form for readers, as `verdicts/` has them, with the post that each row is about."""
    rows = [
        {
            "documentation": each.documentation,
            "keyword": each.subject,
            "signable": None,
            "reason": "",
            "post": each.text,
        }
        for each in posts
        if not each.refusal
    ]
    return {"round": "", "date": "", "reader": "", "verdicts": rows}


async def _articles(name: str, folder: Path, seed: str) -> list[ArticleRun]:
    keywords = [each for each in draw_keywords(name, folder, seed) if each.kind not in OFF_TOPIC]
    return [run for run in (await write_articles(name, folder, keywords)).articles if not run.same_as]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.articles.post_draw", description=__doc__)
    parser.add_argument(
        "names", nargs="+", metavar="NAME", help="collections, as for python -m tests.articles"
    )
    parser.add_argument("--seed", default=SEED, help="draw other keywords and posts")
    parser.add_argument("--most", type=int, default=40, metavar="N", help="posts to draw (default: 40)")
    parser.add_argument("--sent", action="store_true", help="also print what is sent to each channel")
    parser.add_argument(
        "--blind", type=Path, metavar="FILE", help="write the posts alone, for a blind reader"
    )
    parser.add_argument("--verdicts", type=Path, metavar="FILE", help="write a blank form for the reader")
    given = parser.parse_args()
    folders = {name: CORPORA.get(name) or folder_of(name) for name in given.names}
    articles = {name: asyncio.run(_articles(name, folder, given.seed)) for name, folder in folders.items()}
    works = {name: work_of(folder) for name, folder in folders.items()}
    posts = list(draw_posts(articles, works, given.seed, given.most))
    print(page_of(posts, with_sent=given.sent))  # noqa: T201
    if given.verdicts:
        given.verdicts.write_text(json.dumps(blank_verdicts(posts), indent=1, ensure_ascii=False) + "\n")
    if given.blind:
        given.blind.write_text(blind_page_of(posts))
    found = Counter(post.channel for post in posts if not post.refusal)
    print(tally_of(posts), file=sys.stderr)  # noqa: T201
    print(", ".join(f"{name}: {n}" for name, n in sorted(found.items())), file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
