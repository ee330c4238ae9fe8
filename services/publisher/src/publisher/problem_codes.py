"""The codes of this service's refusals; `chassis.http.problem_codes` has those of all APIs."""

from typing import Final

from chassis.http.problem_codes import (
    conflict,
    forbidden,
    listed_codes,
    not_found,
    unavailable,
    unprocessable,
)

NO_SITE = not_found("no_site", "The brand has no site yet.")
NO_LOGO = not_found("no_logo", "The brand has no logo.")
INVALID_PICTURE = unprocessable("invalid_picture", "The picture cannot be used; `detail` says why.")
EXPORT_UNDER_WAY = unavailable(
    "export_under_way", "Another site is being exported; again after `Retry-After`."
)
UNKNOWN_ARTICLE = not_found("unknown_article", "There is no such article, or it is being written.")
ARTICLE_NOT_READ = unavailable(
    "article_not_read", "The orchestrator does not give the article; `detail` says why."
)
ADDRESS_RESERVED = conflict("address_reserved", "The address is the shared one of all sites.")
ADDRESS_NOT_PROVEN = forbidden(
    "address_not_proven",
    "Nothing proves that the brand controls the address; `detail` says which file would.",
)
FOLDER_NOT_GIVEN = forbidden("folder_not_given", "No administrator has given the brand this folder.")
FOLDER_TAKEN = conflict("folder_taken", "The folder belongs to another brand, or overlaps such a folder.")
ADDRESS_TAKEN = conflict("address_taken", "The address leads to another brand's site.")
NOTHING_SET = not_found("nothing_set", "The target has no settings.")
TARGET_IS_BUILT_IN = unprocessable("target_is_built_in", "The built-in site has settings of its own.")
NO_MAIL_ACCOUNT = conflict("no_mail_account", "No mail server is connected for the brand; `detail` says how.")
GATEWAY_AWAY = unavailable("gateway_away", "The gateway does not answer; try again in a minute.")
UNKNOWN_SUBSCRIBER = not_found(
    "unknown_subscriber", "There is no such subscriber, or the subscription has ended."
)

ALL: Final = listed_codes(globals())
