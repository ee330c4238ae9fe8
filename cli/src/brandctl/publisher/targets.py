"""`brandctl targets`: how a brand wants its articles on other people's sites and as files, and what is where."""

from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.errors import UsageError
from brandctl.listing import Limit, Listing
from brandctl.publisher.client import PublisherUrl, SitesClient
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="targets",
    no_args_is_help=True,
    help=f"""How a brand wants its articles at its targets: other people's sites, files, receivers of webhooks. And what is where.

Which targets a brand has, and which of them is the home of its articles, is said with brandctl brands set BRAND --targets.

{SitesClient.help()}

For example:

    brandctl targets set acme company-blog --category Coffee --author ada
    brandctl targets set acme files --profile astro --git --address "https://acme.example/blog/{{slug}}/"
    brandctl targets articles acme
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]
Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="As the brand calls it: files, an account, or its kind.")
]


class TargetKindChoice(StrEnum):
    WORDPRESS = "wordpress"
    GHOST = "ghost"
    DEVTO = "devto"
    FILES = "files"
    WEBHOOK = "webhook"


class TargetProfileChoice(StrEnum):
    HUGO = "hugo"
    ASTRO = "astro"
    JEKYLL = "jekyll"
    ELEVENTY = "eleventy"


class TargetSetting(StrEnum):
    """What can be taken back."""

    KIND = "kind"
    ACCOUNT = "account"
    CATEGORIES = "categories"
    TAGS = "tags"
    AUTHOR = "author"
    COVER = "cover"
    ADDRESS = "address"
    FOLDER = "folder"
    PROFILE = "profile"
    GIT = "git"


@app.command(name="list")
def list_targets(
    brand: Brand, as_json: AsJson = False, publisher_url: PublisherUrl = None, key_file: KeyFile = None
) -> None:
    """Lists the targets for which a brand has said something."""
    with SitesClient.at(publisher_url, key_file) as sites:
        answer = sites.targets(brand)
    _TARGETS.show(answer["items"], answer, as_json=as_json)


@app.command()
def show(
    brand: Brand,
    target: Target,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows how a brand wants its articles at a target."""
    with SitesClient.at(publisher_url, key_file) as sites:
        _show(sites.target(brand, target), as_json=as_json)


@app.command(name="set")
def decide(
    brand: Brand,
    target: Target,
    kind: Annotated[
        TargetKindChoice | None,
        typer.Option(help="What it is.", show_default="what it is called like, or its account's"),
    ] = None,
    account: Annotated[
        str | None, typer.Option(help="Of the gateway, as `brandctl accounts list` shows it.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="By name; repeat for several. Of Ghost, the first comes first.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="By name; repeat for several.", show_default="the keyword")
    ] = None,
    author: Annotated[
        str | None, typer.Option(help="User name at WordPress, slug or mail address at Ghost.")
    ] = None,
    cover: Annotated[
        bool | None, typer.Option("--cover/--no-cover", help="Whether the article's picture goes along.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(help="Of files and webhooks: where readers find an article, with {slug} in it."),
    ] = None,
    folder: Annotated[
        str | None, typer.Option(help="Of files: below PUBLISH_FOLDER.", show_default="the brand's slug")
    ] = None,
    profile: Annotated[
        TargetProfileChoice | None,
        typer.Option(help="Of files: whose names and front matter.", show_default="hugo"),
    ] = None,
    git: Annotated[
        bool | None, typer.Option("--git/--no-git", help="Of files: each change is a commit; none is pushed.")
    ] = None,
    clear: Annotated[
        list[TargetSetting] | None, typer.Option(help="Have it as if never set; repeat.")
    ] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Changes what is named and leaves the rest as it is; holds for what is written from now on. Categories that are named replace those of before.

    What is at the target already gets it with brandctl content publish ID TARGET.
    """
    given: dict[str, Any] = {
        "kind": kind,
        "account": account,
        "categories": category or None,
        "tags": tag or None,
        "author": author,
        "cover": cover,
        "address": address,
        "folder": folder,
        "profile": profile,
        "git": git,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    for setting in clear or ():
        if setting.value in changes:
            raise UsageError(f"--clear {setting}: you set it, too; say one of the two")
    if not changes and not clear:
        raise UsageError("say what is to change; brandctl targets set --help lists what there is")
    with SitesClient.at(publisher_url, key_file) as sites:
        before = next((each for each in sites.targets(brand)["items"] if each["target"] == target), None)
        kept = {} if before is None else before["settings"]
        wanted = {name: value for name, value in kept.items() if name not in set(clear or ())}
        _show(sites.set_target(brand, target, wanted | changes), as_json=as_json)


@app.command()
def reset(
    brand: Brand,
    target: Target,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Takes back what is set of a target. What is there stays, and the brand keeps the target."""
    with SitesClient.at(publisher_url, key_file) as sites:
        sites.reset_target(brand, target)
    if as_json:
        print_json({"brand": brand, "target": target})
    note(f"{brand}: nothing is set of {target} any more")


@app.command()
def articles(
    brand: Brand,
    after: Annotated[
        int | None, typer.Option(help="Where the page before says that this one begins.")
    ] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists what of a brand is at which target beside the built-in site, and what failed, in the order in which it was begun.

    For example:

        brandctl targets articles acme --json | jq '.items[] | select(.state == "failed")'
    """
    with SitesClient.at(publisher_url, key_file) as sites:
        answer = sites.publications(brand, after=after, limit=limit)
    _ARTICLES.show(answer["items"], answer, as_json=as_json, more=answer["next"])


def _said(settings: dict[str, Any]) -> dict[str, str]:
    """What was decided, as people read it."""
    told: dict[str, str] = {}
    for name, value in settings.items():
        match value:
            case None | []:
                pass
            case bool():
                told[name] = "yes" if value else "no"
            case list():
                told[name] = ", ".join(map(str, value))
            case _:
                told[name] = str(value)
    return told


_TARGETS: Final = Listing[dict[str, Any]](
    {
        "target": lambda each: each["target"],
        "settings": lambda each: "; ".join(
            f"{name}: {value}" for name, value in _said(each["settings"]).items()
        ),
    },
    nothing="nothing is set: articles are at each target as is usual there",
)
_ARTICLES: Final = Listing[dict[str, Any]](
    {
        "article": lambda each: each["content_id"],
        "target": lambda each: each["target"],
        "account": lambda each: each["account"] or each["kind"],
        "state": lambda each: each["state"],
        "address": lambda each: each["url"] or "",
        "why": lambda each: ": ".join(filter(None, [each["reason"], each["detail"]])),
    },
    nothing="nothing of it is elsewhere than on the built-in site",
    colours={"published": "green", "writing": "yellow", "failed": "red"},
)


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    show_table(("setting", "value"), [*_said(found["settings"]).items()])
    note(f"so it is from now on at {found['target']}")
