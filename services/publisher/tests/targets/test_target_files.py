"""Articles as files: complete, nowhere else than in their folder, one commit for each change."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from fakes.sites.receiver import FakeReceiver
from publisher.domain import Article
from publisher.markup import plain_text, to_html
from publisher.targets import publications
from publisher.targets.markdown import markdown_of, rewrite_markdown
from publisher.targets.settings import TargetSettings

ADDRESS = "https://acme.example/blog/{slug}/"
LATER = {"updated_at": "2026-02-01T10:00:00Z", "title": "Colder brew at home"}


async def wish(targets: Any, **settings: Any) -> None:
    async with targets.database.transaction() as tx:
        wanted = TargetSettings(**{"address": ADDRESS, **settings})
        await publications.set_settings(tx.connection, "daily-grind", "files", wanted)


def fields_of(file: Path) -> dict[str, Any]:
    _, front, _ = file.read_text().split("---\n", 2)
    return yaml.safe_load(front)


def files_in(folder: Path) -> set[str]:
    return {
        str(each.relative_to(folder))
        for each in folder.rglob("*")
        if each.is_file() and ".git/" not in str(each)
    }


def git(folder: Path, *what: str) -> str:
    return subprocess.run(["git", "-C", folder, *what], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("profile", "text", "cover", "names"),
    [
        ("hugo", "cold-brew/index.md", "cold-brew/cover.png", {"date", "lastmod", "canonicalURL", "images"}),
        ("astro", "cold-brew.md", "cold-brew.png", {"pubDate", "updatedDate", "heroImage", "canonicalURL"}),
        (
            "jekyll",
            "_posts/{day}-cold-brew.md",
            "assets/covers/cold-brew.png",
            {"layout", "image", "canonical_url"},
        ),
        (
            "eleventy",
            "cold-brew.md",
            "cold-brew.png",
            {"date", "canonical", "imageAlt", "templateEngineOverride"},
        ),
    ],
)
async def test_each_generator_finds_what_it_looks_for(
    targets: Any, profile: str, text: str, cover: str, names: set[str]
) -> None:
    await wish(targets, profile=profile, folder="sites/blog", tags=("Coffee: brewing",))
    home = "https://acme.example/cold-brew"
    days = [f"{datetime.now(UTC):%Y-%m-%d}"]
    answer = await targets.publish(targets.orchestrator.add(), "files", canonical_url=home)
    days.append(f"{datetime.now(UTC):%Y-%m-%d}")  # midnight may have been in between
    assert answer["published_url"] == "https://acme.example/blog/cold-brew/"
    folder = targets.folder / "sites/blog"
    text = next(name for day in days if (folder / (name := text.format(day=day))).exists())
    assert files_in(targets.folder) == {f"sites/blog/{text}", f"sites/blog/{cover}"}
    fields = fields_of(folder / text)
    assert names <= set(fields)
    assert (fields["title"], fields["tags"]) == ("Cold brew at home", ["Coffee: brewing"])
    assert home in fields.values()
    assert (folder / cover).read_bytes().startswith(b"\x89PNG")


async def test_files_are_changed_in_place_moved_and_removed(targets: Any) -> None:
    await wish(targets)
    content_id = targets.orchestrator.add()
    folder = targets.folder / "daily-grind"
    await targets.publish(content_id, "files")
    since = fields_of(folder / "cold-brew/index.md")["date"]
    targets.change(content_id, **LATER, slug="colder-brew")
    moved = await targets.publish(content_id, "files")
    assert moved["published_url"] == "https://acme.example/blog/colder-brew/"
    assert files_in(folder) == {"colder-brew/index.md", "colder-brew/cover.png"}
    assert fields_of(folder / "colder-brew/index.md")["date"] == since
    # Another article of that name does not take its place.
    await targets.publish(targets.orchestrator.add(slug="colder-brew"), "files")
    assert "colder-brew-2/index.md" in files_in(folder)
    targets.change(content_id, taken_down_at="2026-03-01T10:00:00Z", updated_at="2026-03-01T10:00:00Z")
    assert await targets.publish(content_id, "files") == {}
    assert files_in(folder) == {"colder-brew-2/index.md", "colder-brew-2/cover.png"}


@pytest.mark.extended
@pytest.mark.parametrize("profile", ["hugo", "astro", "jekyll", "eleventy"])
async def test_two_articles_of_one_slug_have_an_address_and_a_picture_each(
    targets: Any, profile: str
) -> None:
    await wish(targets, profile=profile)
    folder = targets.folder / "daily-grind"
    seen = {}
    for title in ("First", "Second"):
        content_id = targets.orchestrator.add(title=title)
        for _ in range(2):
            url = (await targets.publish(content_id, "files"))["published_url"]
        [text] = [each for each in folder.rglob("*.md") if fields_of(each)["title"] == title]
        fields = fields_of(text)
        match profile:
            case "hugo":
                # The generator makes the address of it.
                assert url == f"https://acme.example/blog/{fields['slug']}/"
                picture = text.parent / fields["cover"]["image"]
            case "astro":
                picture = text.parent / fields["heroImage"]
            case "jekyll":
                picture = folder / fields["image"]["path"].removeprefix("/")
            case _:
                picture = text.parent / fields["image"]
        assert picture.read_bytes().endswith(title.encode())
        seen[url] = picture
    assert list(seen) == [
        "https://acme.example/blog/cold-brew/",
        "https://acme.example/blog/cold-brew-2/",
    ]
    assert len(set(seen.values())) == 2


async def test_articles_of_one_slug_and_several_days_keep_their_pictures(targets: Any) -> None:
    await wish(targets, profile="jekyll")
    first = targets.orchestrator.add(title="First")
    await targets.publish(first, "files")
    async with targets.database.transaction() as tx:
        # It was begun the day before.
        await tx.connection.execute("update publications set created_at = created_at - interval '1 day'")
    targets.change(first, updated_at="2026-02-01T10:00:00Z", meta_description="Other words.")
    await targets.publish(first, "files")
    await targets.publish(targets.orchestrator.add(title="Second"), "files")
    covers = targets.folder / "daily-grind/assets/covers"
    assert {each.name: each.read_bytes()[-6:] for each in covers.iterdir()} == {
        "cold-brew.png": b"\x82First",
        "cold-brew-2.png": b"Second",
    }


@pytest.mark.parametrize("had_one", [False, True])
async def test_a_picture_of_somebody_else_is_left_alone(targets: Any, had_one: bool) -> None:
    await wish(targets, profile="astro", cover=had_one)
    folder = targets.folder / "daily-grind"
    if had_one:
        folder.mkdir()
        (folder / "cold-brew.png").write_bytes(b"Ann's")
    content_id = targets.orchestrator.add()
    await targets.publish(content_id, "files")
    (folder / "cold-brew.png").write_bytes(b"Ann's")
    await wish(targets, profile="astro")
    targets.change(content_id, **LATER)
    assert (await targets.publish(content_id, "files"))["type"] == "content.published"
    assert (folder / "cold-brew.png").read_bytes() == b"Ann's"
    text = folder / ("cold-brew-2.md" if had_one else "cold-brew.md")
    assert fields_of(text).get("heroImage") == ("./cold-brew-2.png" if had_one else None)


async def test_what_a_person_changed_is_left_alone_until_told_otherwise(targets: Any) -> None:
    await wish(targets)
    content_id = targets.orchestrator.add()
    await targets.publish(content_id, "files")
    file = targets.folder / "daily-grind/cold-brew/index.md"
    file.write_text(edited := file.read_text() + "\nAnn was here.\n")
    targets.change(content_id, **LATER)
    assert (await targets.publish(content_id, "files"))["reason"] == "changed_elsewhere"
    assert file.read_text() == edited
    assert (await targets.publish(content_id, "files", overwrite=True))["type"] == "content.published"
    assert "Ann" not in file.read_text()
    file.unlink()
    targets.change(content_id, title="Coldest", updated_at="2026-04-01T10:00:00Z")
    assert (await targets.publish(content_id, "files"))["reason"] == "gone_elsewhere"
    assert (await targets.publish(content_id, "files", overwrite=True))["type"] == "content.published"


async def test_one_commit_for_each_change_and_none_for_the_same_again(targets: Any) -> None:
    await wish(targets, git=True, folder="site/content", profile="hugo")
    home = targets.folder / "site"
    home.mkdir()
    git(targets.folder, "init", "-q", "-b", "main", "site")
    git(home, "config", "user.email", "ann@example.org")
    git(home, "config", "user.name", "Ann")
    hook = home / ".git/hooks/post-commit"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    (home / "own.txt").write_text("Ann's, staged and not committed")
    git(home, "add", "own.txt")
    content_id = targets.orchestrator.add()
    for _ in range(2):
        await targets.publish(content_id, "files", overwrite=True)
    targets.change(content_id, **LATER)
    await targets.publish(content_id, "files")
    targets.change(content_id, taken_down_at="2026-03-01T10:00:00Z", updated_at="2026-03-01T10:00:00Z")
    await targets.publish(content_id, "files")
    lines = git(home, "log", "--format=%an: %s").splitlines()
    assert lines[0] == "daily-grind: Withdraw cold-brew/index.md"
    assert lines[1] == "The Daily Grind: Update “Colder brew at home”"
    assert lines[-1] == "The Daily Grind: Publish “Cold brew at home”"
    assert git(home, "status", "--porcelain") == "A  own.txt\n"
    assert not (home / "hooked").exists()
    git(home, "fsck", "--strict")
    shown = git(home, "show", "--stat", "--format=", "HEAD~1").split("|")[0].strip()
    assert shown == "content/cold-brew/cover.png"


async def test_nothing_leaves_the_folder(targets: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    for folder in ("../out", "/etc", "a/../../out", ".git", "a/.hidden", "", "a//b", "a\x00b"):
        with pytest.raises(ValueError, match="folder"):
            TargetSettings(folder=folder)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (targets.folder / "link").symlink_to(elsewhere)
    await wish(targets, folder="link")
    assert (await targets.publish(targets.orchestrator.add(), "files"))["reason"] == "outside"
    await wish(targets, folder="own")
    (targets.folder / "own").mkdir()
    (targets.folder / "own/cold-brew").symlink_to(elsewhere)
    assert (await targets.publish(targets.orchestrator.add(), "files"))["reason"] == "outside"
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org:99999/{slug}/",
        "https://example.org:0/{slug}/",
        "https://ann@example.org/{slug}/",
        "https://[example.org/{slug}/",
        "https:///{slug}/",
        "ftp://example.org/{slug}/",
    ],
)
def test_an_address_that_no_page_could_link_to_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        TargetSettings(address=address)


async def test_whoever_wants_files_is_told_what_is_missing(targets: Any) -> None:
    content_id = targets.orchestrator.add()
    assert (await targets.publish(content_id, "files"))["reason"] == "no_address"
    targets.folder = None
    await wish(targets)
    refused = await targets.publish(content_id, "files")
    assert (refused["reason"], "PUBLISH_FOLDER" in refused["detail"]) == ("no_folder", True)


async def test_a_target_without_an_account_says_what_to_connect(targets: Any, connect: Any) -> None:
    content_id = targets.orchestrator.add()
    assert (await targets.publish(content_id, "wordpress"))["reason"] == "not_connected"
    assert (await targets.publish(content_id, "nowhere"))["reason"] == "unknown_target"
    await connect(FakeReceiver(), "webhook", "first")
    assert (await targets.publish(content_id, "webhook"))["type"] == "content.published"
    await connect(FakeReceiver(), "webhook", "second")
    assert (await targets.publish(targets.orchestrator.add(), "webhook"))["reason"] == "several_accounts"
    assert (await targets.publish(targets.orchestrator.add(), "second"))["type"] == "content.published"


HOSTILE = """Text with <script>alert(1)</script> and {{ site.secret }} {% include /etc/passwd %} [1] a\\<b> `x<y>` `{{ z }}`

## A *heading* with `code` # and more

- one
- two
  1. deep
  2. deeper

> quoted
> lines

| a | b |
| --- | --- |
| 1 \\| 2 | <img src=x onerror=alert(1)> |

```liquid
{{< shortcode >}} {% raw %} <script>
```

[link](https://example.org/a(b) "t") [bad](javascript:alert(1)) ![pic](https://evil.example/p.png) ~~gone~~ **bold**

---

1\\. not a list"""


def test_rewritten_text_says_the_same_and_holds_no_html_or_template() -> None:
    text = rewrite_markdown(HOSTILE)
    assert rewrite_markdown(text) == text
    # As a generator renders it that lets HTML through.
    loose = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    html = loose.render(text)
    outside_code = html.split("<pre>")[0] + html.split("</pre>")[1]
    assert "<script" not in html.replace("&lt;script", "")
    assert "<img" not in html
    assert 'href="javascript:' not in html
    code = text[text.index("```") : text.rindex("```")]
    assert "{{" not in text.replace(code, "")
    assert "{%" not in text.replace(code, "")
    assert plain_text(to_html(text, frozenset()).html) == plain_text(to_html(HOSTILE, frozenset()).html)
    assert outside_code.count("<li>") == 4


def test_text_of_an_article_ends_with_its_sources(new_article: Any) -> None:
    text = markdown_of(Article.model_validate(new_article()))
    assert text.startswith("Cold brew is coffee steeped in cold water. \\[1\\]\n\n## Ratio\n")
    assert text.endswith("## Sources\n\n1. [Steeping](https://example.org/steeping) (CC BY 4.0)\n2. Ratios\n")
