"""`brandctl posts rules`, `set-rules` and `remove-rules`: a brand's rules for posts on each channel."""

from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.listing import Listing
from brandctl.social.client import Brand, PostsClient, SocialUrl
from brandctl.terminal import note, print_json

_RULES: Final = Listing[dict[str, Any]](
    {
        "channel": lambda rules: rules["channel"],
        "link": lambda rules: rules["link"],
        "hashtags": lambda rules: " ".join(f"#{each}" for each in rules["hashtags"]),
        "at most": lambda rules: str(rules["most_hashtags"]),
        "reach": lambda rules: "asked" if rules["reach"] else "",
        "set": lambda rules: "yes" if rules["is_set"] else "",
    },
    nothing="no channels",
)


def rules(
    brand: Brand, as_json: AsJson = False, social_url: SocialUrl = None, key_file: KeyFile = None
) -> None:
    """Shows a brand's rules for posts on each channel: the place of the link, and hashtags.

    For example:

        brandctl posts rules acme
    """
    with PostsClient.at(social_url, key_file) as posts:
        answer = posts.rules(brand)
    _RULES.show(answer["items"], answer, as_json=as_json, more=None)


def set_rules(
    brand: Brand,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="Kind of channel, such as x.")],
    link: Annotated[
        str | None,
        typer.Option(help="in_text, first_comment or none.", show_default="as usual there"),
    ] = None,
    hashtag: Annotated[
        list[str] | None, typer.Option(help="A hashtag before those of the article; repeat for more.")
    ] = None,
    most_hashtags: Annotated[int | None, typer.Option(min=0, max=30, show_default="as usual there")] = None,
    reach: Annotated[
        bool,
        typer.Option("--reach", help="Read post metrics from the platform daily: mastodon, bluesky."),
    ] = False,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sets the place of the link and the hashtags of a brand's posts on a channel; options left out take the channel's defaults.

    For example:

        brandctl posts set-rules acme x --link first_comment --hashtag HomeCoffee
        brandctl posts set-rules acme mastodon --reach
    """
    wanted = {"link": link, "hashtags": hashtag or [], "most_hashtags": most_hashtags}
    if reach:
        wanted["reach"] = True
    with PostsClient.at(social_url, key_file) as posts:
        answer = posts.set_rules(brand, channel, wanted)
    if as_json:
        print_json(answer)
    else:
        tags = " ".join(f"#{each}" for each in answer["hashtags"]) or "those of the article"
        note(
            f"{brand} on {channel}: link {answer['link']}, hashtags {tags}, {answer['most_hashtags']} at most"
            f"{', with post metrics' if answer['reach'] else ''}"
        )


def remove_rules(
    brand: Brand,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="Kind of channel, such as x.")],
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Removes a brand's rules for a channel: its defaults apply from then on.

    For example:

        brandctl posts remove-rules acme x
    """
    with PostsClient.at(social_url, key_file) as posts:
        posts.remove_rules(brand, channel)
    if as_json:
        print_json({"brand": brand, "channel": channel})
    note(f"{brand} on {channel}: the channel's defaults apply")
