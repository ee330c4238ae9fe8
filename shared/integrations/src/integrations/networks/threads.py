"""Threads."""

from typing import Final

from integrations.account import Account, OAuthLogin
from integrations.networks.meta import ERRORS
from integrations.networks.network import Network, TextLimit

THREADS_ACCOUNT: Final = Account(
    kind="threads",
    secret="access",
    api="https://graph.threads.net",
    login=OAuthLogin(
        authorize_url="https://threads.net/oauth/authorize",
        token_url="https://graph.threads.net/oauth/access_token",
        scopes=("threads_basic", "threads_content_publish"),
        scope_separator=",",
        has_pkce=False,
    ),
)
THREADS: Final = Network(
    name="threads",
    title="Threads",
    position=5,
    limits=(TextLimit("characters", 500),),
    limits_source="https://developers.facebook.com/documentation/threads/posts",
    note="Emoji count by their bytes. One hashtag a post.",
    points=1,
    bulleted=False,
    hashtags=1,
    opening=1,
    placements=("in_text", "first_comment", "none"),
    errors=ERRORS,
    review="of the app, for others' accounts",
    lost_post="looked up",
)
