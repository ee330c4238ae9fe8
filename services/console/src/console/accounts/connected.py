"""The accounts that a brand's posts can go to, as pages offer them."""

from chassis.http.callers import Scope
from console.accounts.account_routes import may_ask
from console.pages import PageViewer


async def connected_names(viewer: PageViewer, brand: str) -> tuple[str, ...] | None:
    """Their names, in order. None: the gateway is away, or this person may not see them."""
    if not may_ask(viewer, Scope.READ):
        return None
    found = (await viewer.gather(accounts=viewer.gateway.list_accounts(brand=brand)))["accounts"]
    return tuple(sorted(each["name"] for each in found["items"])) if found else None
