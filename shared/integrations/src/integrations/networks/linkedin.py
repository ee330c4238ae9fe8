"""LinkedIn, for a person or an organisation."""

from typing import Final

from integrations.account import Account, OAuthLogin
from integrations.networks.network import Network, TextLimit

LINKEDIN_ACCOUNT: Final = Account(
    kind="linkedin",
    secret="access",
    further_settings={"organization": "2414183"},
    api="https://api.linkedin.com",
    login=OAuthLogin(
        authorize_url="https://www.linkedin.com/oauth/v2/authorization",
        token_url="https://www.linkedin.com/oauth/v2/accessToken",
        scopes=("openid", "profile", "w_member_social"),
        has_pkce=False,
    ),
)
LINKEDIN: Final = Network(
    name="linkedin",
    title="LinkedIn",
    position=4,
    limits=(TextLimit("characters", 3000),),
    limits_source="https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api",
    note="Counted as sent to the API, where reserved characters carry a backslash.",
    points=2,
    bulleted=False,
    hashtags=3,
    headings=4,
    invites=True,
    placements=("in_text", "first_comment", "none"),
    errors={
        "needs_reconnecting": "LinkedIn's token has expired (they live 60 days) or was taken back: connect the account again",
        "forbidden": "LinkedIn does not let this account post: it lacks a permission (w_member_social or w_organization_social), or is no administrator of the page any more",
        "version_retired": "LinkedIn has retired the version of its API that this program speaks: install a newer one",
        "duplicate": "this account has posted the same text before; edit the post, or leave it",
        "text_too_long": "LinkedIn counts the text longer than it allows; edit the post",
        "no_author": "the account is not connected completely",
    },
    review="none for yourself; for a page, of your company",
    lost_post="looked up; a person's: sent again within an hour, then in doubt",
)
