"""`brandctl targets`: settings of a brand's targets, and its publications there."""

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
    help=f"""Sets how a brand's articles appear at its targets (sites, files, webhooks), and lists its publications.

brandctl brands set BRAND --targets sets a brand's targets and its home.

{SitesClient.help()}

For example:

    brandctl targets set acme company-blog --category Coffee --author ada
    brandctl targets set acme files --profile astro --git --address "https://acme.example/blog/{{slug}}/"
    brandctl targets articles acme
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]
Target = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="The brand's name of the target: files, an account, or its kind."),
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
    """Settings that can be cleared."""

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
    """Lists the targets with settings of a brand."""
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
    """Shows a brand's settings of a target."""
    with SitesClient.at(publisher_url, key_file) as sites:
        _show(sites.target(brand, target), as_json=as_json)


@app.command(name="set")
def decide(
    brand: Brand,
    target: Target,
    kind: Annotated[
        TargetKindChoice | None,
        typer.Option(help="Kind of the target.", show_default="by its name or its account"),
    ] = None,
    account: Annotated[
        str | None, typer.Option(help="The gateway's account, as in `brandctl accounts list`.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help="Name of a category; repeat for more. At Ghost, the first is the primary one."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Name of a tag; repeat for more.", show_default="the keyword")
    ] = None,
    author: Annotated[
        str | None, typer.Option(help="User name at WordPress, slug or mail address at Ghost.")
    ] = None,
    cover: Annotated[
        bool | None, typer.Option("--cover/--no-cover", help="Whether to send the article's cover, too.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(help="For files and webhooks: address of an article for readers, with {slug} in it."),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(help="For files: folder below PUBLISH_FOLDER.", show_default="the brand's slug"),
    ] = None,
    profile: Annotated[
        TargetProfileChoice | None,
        typer.Option(
            help="For files: the site generator that sets names and front matter.", show_default="hugo"
        ),
    ] = None,
    git: Annotated[
        bool | None, typer.Option("--git/--no-git", help="For files: commit each change, without a push.")
    ] = None,
    clear: Annotated[
        list[TargetSetting] | None, typer.Option(help="A setting to reset to its default; repeat for more.")
    ] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Changes the given settings of a target, for articles published from then on. Given categories replace all previous ones.

    brandctl content publish ID TARGET applies them to a published article.
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
            raise UsageError(f"--clear {setting}: the same command sets it; give only one of the two")
    if not changes and not clear:
        raise UsageError("no setting is given; brandctl targets set --help lists them")
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
    """Removes all settings of a target. Its articles stay, and the brand keeps the target."""
    with SitesClient.at(publisher_url, key_file) as sites:
        sites.reset_target(brand, target)
    if as_json:
        print_json({"brand": brand, "target": target})
    note(f"{brand}: the settings of {target} are removed")


@app.command()
def articles(
    brand: Brand,
    after: Annotated[int | None, typer.Option(help="The cursor that the previous page printed.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists a brand's publications at targets other than the built-in site, with failures, oldest first.

    For example:

        brandctl targets articles acme --json | jq '.items[] | select(.state == "failed")'
    """
    with SitesClient.at(publisher_url, key_file) as sites:
        answer = sites.publications(brand, after=after, limit=limit)
    _ARTICLES.show(answer["items"], answer, as_json=as_json, more=answer["next"])


def _said(settings: dict[str, Any]) -> dict[str, str]:
    """The settings as texts for people."""
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
    nothing="no target has settings: the defaults apply",
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
    nothing="the brand has publications only on the built-in site",
    colours={"published": "green", "writing": "yellow", "failed": "red"},
)


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    show_table(("setting", "value"), [*_said(found["settings"]).items()])
    note(f"the settings of {found['target']} apply from now on")
