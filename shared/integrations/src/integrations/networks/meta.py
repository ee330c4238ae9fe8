"""What Instagram and Threads have in common: Meta's Graph API."""

from typing import Final

ERRORS: Final = {
    "needs_reconnecting": "the token has expired (they live 60 days) or was taken back: connect the account again",
    "forbidden": "the account does not let this be posted: it lacks a permission, or its owner has to confirm something in the app",
    "text_too_long": "the text is longer than allowed; edit the post",
    "picture": "the picture was not taken: it has to be a JPEG that everybody can fetch, so that the site needs a public address",
    "no_user": "the account is not connected completely",
    "spam": "the platform took it for spam; wait a day, and post less alike",
}
