"""Pinterest: a board of a business account, https://developers.pinterest.com/docs/api/v5/."""

from typing import Final

from integrations.account import Account, OAuthLogin
from integrations.networks.network import Network, TextLimit

PINTEREST_ACCOUNT: Final = Account(
    kind="pinterest",
    secret="access",
    api="https://api.pinterest.com",
    login=OAuthLogin(
        authorize_url="https://www.pinterest.com/oauth/",
        token_url="https://api.pinterest.com/v5/oauth/token",
        scopes=("boards:read", "pins:read", "pins:write", "user_accounts:read"),
        scope_separator=",",
        has_pkce=False,
        secret_in_form=False,
    ),
)
PINTEREST: Final = Network(
    name="pinterest",
    title="Pinterest",
    position=11,
    limits=(TextLimit("characters", 800),),
    limits_source="https://developers.pinterest.com/docs/api/v5/pins-create",
    note="The link stands beside the text, in a field of its own.",
    points=2,
    bulleted=False,
    hashtags=2,
    opening=3,
    placements=("none",),
    needs_picture=True,
    errors={
        "needs_reconnecting": "Pinterest's token has expired or was taken back: connect the account again",
        "forbidden": "Pinterest does not let this account post to the board: look whether it is the account's own",
        "picture": "the article's picture cannot be had any more: let the post go elsewhere",
        "text_too_long": "Pinterest counts the text longer than 800; edit the post",
    },
    review="of the app",
    lost_post="looked up",
)
