"""The draw of posts: each collection comes to all channels, and an article without a post is replaced by another one."""

from reading.works import StatedWork
from social.channels import BUILT_IN, CHANNELS
from tests.articles.article_runs import ArticleRun
from tests.articles.keyword_draw import DrawnKeyword
from tests.articles.post_draw import (
    DrawnPost,
    blank_verdicts,
    blind_page_of,
    draw_posts,
    page_of,
    post_of,
    tally_of,
)
from writing.article import Article, ArticleSource

_WORK = StatedWork(title="On pots", author="Ada", licence="CC0")


def _run(keyword: str, opening: str) -> ArticleRun:
    article = Article(
        title=keyword,
        slug=keyword.replace(" ", "-"),
        meta_description=opening,
        body_markdown=f"{opening} [1]\n",
        word_count=9,
        key_points=(opening,),
        cited=(1,),
    )
    source = ArticleSource(n=1, title="Kilns", passages=(), path="kilns.html")
    return ArticleRun(DrawnKeyword(keyword, "title"), article, (source,), "", 0.0)


_RUNS = {
    name: [
        _run(f"kiln {place} {name}", f"A kiln {place} of {name} never cools in less than a day.")
        for place in range(9)
    ]
    for name in ("pots", "cups")
}


def _drawn(seed: str, most: int) -> list[DrawnPost]:
    return list(draw_posts(_RUNS, dict.fromkeys(_RUNS, _WORK), seed, most))


def test_each_collection_comes_to_each_channel() -> None:
    drawn = _drawn("a", 2 * len(CHANNELS))
    assert {(each.documentation, each.channel) for each in drawn} == {
        (name, channel) for name in _RUNS for channel in CHANNELS
    }
    assert drawn == _drawn("a", 2 * len(CHANNELS))
    assert drawn != _drawn("b", 2 * len(CHANNELS))


def test_a_post_is_whole_with_the_source_that_the_folder_states() -> None:
    page = page_of(_drawn("a", len(CHANNELS)), with_sent=True)
    assert "— Kilns, by Ada (CC0)" in page
    assert "https://blog.example.org/kiln-" in page
    assert "--- sent" in page


def test_an_article_without_a_post_is_shown_and_another_one_takes_its_place() -> None:
    runs = {"pots": [_run("kiln", "It never cools in less than a day."), *_RUNS["pots"]]}
    drawn = list(draw_posts(runs, {"pots": _WORK}, "a", 15))
    refused = [each for each in drawn if each.refusal]
    assert {each.keyword for each in refused} == {"kiln"}
    assert len(drawn) - len(refused) == 15
    assert [row["post"] for row in blank_verdicts(drawn)["verdicts"]] == [
        each.text for each in drawn if each.text
    ]


def test_a_blind_reader_gets_the_posts_alone_and_the_tally_counts_both_sides() -> None:
    runs = {"pots": [_run("kiln", "It never cools in less than a day."), *_RUNS["pots"]]}
    drawn = list(draw_posts(runs, {"pots": _WORK}, "a", 15))
    refused = sum(1 for each in drawn if each.refusal)
    blind = blind_page_of(drawn)
    assert blind.count("=== ") == 15
    assert "=== 15. " in blind
    assert "No post" not in blind
    assert tally_of(drawn).splitlines() == [
        f"pots: 15 posts, {refused} refused",
        f"{refused} refused: no sentence of the article stands alone",
    ]


def test_an_article_has_two_posts_at_most_and_another_collection_fills_the_draw() -> None:
    runs = {"pots": _RUNS["pots"][:1], "cups": _RUNS["cups"]}
    drawn = list(draw_posts(runs, dict.fromkeys(runs, _WORK), "a", 40))
    assert {name: sum(each.documentation == name for each in drawn) for name in runs} == {
        "pots": 2,
        "cups": 18,
    }


def test_what_a_webhook_gets_beside_the_text_is_shown() -> None:
    post = post_of(_RUNS["pots"][0], "pots", CHANNELS["webhook"], _WORK)
    assert post.text.endswith("\n\nhttps://blog.example.org/kiln-0-pots")


def test_what_the_feed_lists_by_its_title_alone_is_no_post() -> None:
    run = _run("kiln", "It never cools in less than a day.")
    post = post_of(run, "pots", BUILT_IN, _WORK)
    assert (post.text, post.refusal) == (
        "",
        "no sentence of the article stands alone: the feed lists the article by its title",
    )
