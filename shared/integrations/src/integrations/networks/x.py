"""X. A post with a link costs thirteen times as much."""

from typing import Final

from integrations.account import Account, OAuthLogin
from integrations.networks.network import Network, TextLimit

X_ACCOUNT: Final = Account(
    kind="x",
    secret="access",
    api="https://api.x.com",
    login=OAuthLogin(
        authorize_url="https://x.com/i/oauth2/authorize",
        token_url="https://api.x.com/2/oauth2/token",
        scopes=("tweet.read", "tweet.write", "users.read", "media.write", "offline.access"),
        secret_in_form=False,
    ),
)
X: Final = Network(
    name="x",
    title="X",
    position=1,
    limits=(TextLimit("weighted characters", 280),),
    limits_source="https://docs.x.com/fundamentals/counting-characters",
    note="Links count 23, emoji and CJK characters 2.",
    points=0,
    hashtags=1,
    placements=("in_text", "first_comment", "none"),
    errors={
        "needs_reconnecting": "X's token has expired or was taken back: connect the account again",
        "no_credits": "the X developer account has no credits left: buy some at console.x.com, then retry the post",
        "duplicate": "this account has posted the same text before; edit the post, or leave it",
        "forbidden": "X does not let this account post: look whether it is locked, and whether its app may write",
        "text_too_long": "X counts the text longer than 280; edit the post",
    },
    price="$0.015 a post, $0.20 with a link",
    lost_post="looked up",
)
