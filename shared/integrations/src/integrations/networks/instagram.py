"""Instagram, for professional accounts (business and creator)."""

from typing import Final

from integrations.account import Account, OAuthLogin
from integrations.networks.meta import ERRORS
from integrations.networks.network import Network, TextLimit

INSTAGRAM_ACCOUNT: Final = Account(
    kind="instagram",
    secret="access",
    api="https://graph.instagram.com",
    login=OAuthLogin(
        authorize_url="https://www.instagram.com/oauth/authorize",
        token_url="https://api.instagram.com/oauth/access_token",
        scopes=("instagram_business_basic", "instagram_business_content_publish"),
        scope_separator=",",
        has_pkce=False,
    ),
)
INSTAGRAM: Final = Network(
    name="instagram",
    title="Instagram",
    position=7,
    limits=(TextLimit("characters", 2200),),
    limits_source="https://developers.facebook.com/docs/instagram-platform/content-publishing",
    note="Links in captions cannot be clicked, and a post needs a picture.",
    points=3,
    bulleted=False,
    hashtags=5,
    invites=True,
    needs_picture=True,
    errors=ERRORS,
    review="of the app, for others' accounts",
    lost_post="looked up",
)
