"""The type of the entries: the facts about a kind of site."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A kind of site."""

    name: str
    title: str
    position: int
    """Order in lists, from 1."""
    review: str = "none"
    """What the provider checks before it lets an account publish; empty: there is no provider. So of the price."""
    price: str = "none"
    lost_article: str
    """What happens to an article that got no answer."""

    @property
    def documentation(self) -> str:
        """Its page in `docs/connect`."""
        return f"{self.name}.md"
