"""`brandctl targets`: settings of a brand's targets, and its publications there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from brandctl.commands import Group, Result, table
from brandctl.listing import Listing
from brandctl.options import AfterNumber, Brand, Limit
from brandctl.settings import given_settings
from client.services.publisher import Publisher
from integrations.sites import SiteName

if TYPE_CHECKING:
    from client.services.publisher import answers

app = Group(
    "targets",
    """Sets how a brand's articles appear at its targets (sites, files, webhooks), and lists its publications.

brandctl brands set BRAND --targets sets a brand's targets and its home.

For example:

    brandctl targets set acme company-blog --category Coffee --author ada
    brandctl targets set acme files --profile astro --git --address "https://acme.example/blog/{slug}/"
    brandctl targets articles acme
""",
    Publisher,
)

Target = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="The brand's name of the target: files, an account, or its kind."),
]
PublicationState = Literal["writing", "published", "unpublished", "failed"]
Profile = Literal["hugo", "astro", "jekyll", "eleventy"]
TargetSetting = Literal[
    "kind", "account", "categories", "tags", "author", "cover", "address", "folder", "profile", "git"
]


def _said(settings: Mapping[str, Any]) -> dict[str, str]:
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


_TARGETS: Final = Listing(
    {
        "target": "target",
        "settings": lambda each: "; ".join(
            f"{name}: {value}" for name, value in _said(each["settings"]).items()
        ),
    },
    nothing="no target has settings: the defaults apply",
)
_ARTICLES: Final = Listing(
    {
        "article": "content_id",
        "target": "target",
        "account": lambda each: each["account"] or each["kind"],
        "state": "state",
        "address": "url",
        "why": lambda each: ": ".join(filter(None, [each["reason"], each["detail"]])),
    },
    nothing="the brand has publications only on the built-in site",
    colours={"published": "green", "writing": "yellow", "failed": "red"},
)


@app.command("list")
def list_targets(publisher: Publisher, brand: Brand) -> Result:
    """Lists the targets with settings of a brand."""
    return _TARGETS.of(publisher.list_targets(brand), more=False)


@app.command()
def show(publisher: Publisher, brand: Brand, target: Target) -> Result:
    """Shows a brand's settings of a target."""
    return _shown(publisher.get_target(brand, target))


@app.command("set")
def set_target(
    publisher: Publisher,
    brand: Brand,
    target: Target,
    kind: SiteName | None = None,
    account: str | None = None,
    category: list[str] | None = None,
    tag: list[str] | None = None,
    author: str | None = None,
    cover: Annotated[bool | None, typer.Option("--cover/--no-cover")] = None,
    address: str | None = None,
    folder: str | None = None,
    profile: Profile | None = None,
    git: Annotated[bool | None, typer.Option("--git/--no-git")] = None,
    clear: list[TargetSetting] | None = None,
) -> Result:
    """Changes the given settings of a target, for articles published from then on. Given categories replace all previous ones.

    brandctl content publish ID TARGET applies them to a published article.

    Options:
        kind: Kind of the target. [default: by its name or its account]
        account: The gateway's account, as in `brandctl accounts list`.
        category: Name of a category; repeat for more. At Ghost, the first is the primary one.
        tag: Name of a tag; repeat for more. [default: the keyword]
        author: User name at WordPress, slug or mail address at Ghost.
        cover: Whether to send the article's cover, too.
        address: For files and webhooks: address of an article for readers, with {slug} in it.
        folder: For files: folder below PUBLISH_FOLDER. [default: the brand's slug]
        profile: For files: the site generator that sets names and front matter. [default: hugo]
        git: For files: commit each change, without a push.
        clear: A setting to reset to its default; repeat for more.
    """
    settings = {
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
    changes = given_settings(settings, clear or (), "targets set")
    listed = publisher.list_targets(brand)["items"]
    before: Mapping[str, Any] = next((each["settings"] for each in listed if each["target"] == target), {})
    kept = {name: value for name, value in before.items() if name not in (clear or ())}
    return _shown(publisher.set_target(brand, target, extra=kept | changes))


@app.command()
def reset(publisher: Publisher, brand: Brand, target: Target) -> Result:
    """Removes all settings of a target. Its articles stay, and the brand keeps the target."""
    publisher.delete_target(brand, target)
    return Result({"brand": brand, "target": target}, remark=f"{brand}: the settings of {target} are removed")


@app.command()
def articles(
    publisher: Publisher,
    brand: Brand,
    state: PublicationState | None = None,
    newest: bool = False,
    after: AfterNumber = None,
    limit: Limit = 50,
) -> Result:
    """Lists a brand's publications at targets other than the built-in site, with failures, oldest first.

    For example:

        brandctl targets articles acme --state failed --newest

    Options:
        state: Only those in this state.
        newest: The newest first.
    """
    return _ARTICLES.of(
        publisher.list_publications(brand, state=state, newest=newest or None, after=after, limit=limit)
    )


def _shown(found: "answers.TargetView") -> Result:
    rows = [*_said({**found["settings"]}).items()]
    return Result(
        found,
        table(("setting", "value"), rows),
        note=f"the settings of {found['target']} apply from now on",
    )
