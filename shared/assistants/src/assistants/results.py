"""Tools that read what goes out, and what came of it."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from assistants.finding import Brand
from assistants.services import READS, Connect, asking


class MeasuredArticle(BaseModel):
    content_id: str
    title: str
    url: str | None
    views: int
    clicks: int


class Measures(BaseModel):
    first: str
    last: str
    views: int
    clicks: int
    """On short links in posts."""
    articles: list[MeasuredArticle]
    """Those with the most views."""


class Planned(BaseModel):
    at: str
    kind: str
    """`article`, `schedule` or `post`."""
    title: str
    place: str | None
    """The account or network of a post."""
    state: str
    content_id: str | None


class Calendar(BaseModel):
    entries: list[Planned]
    is_cut: bool
    """Whether there are more than these."""


def add_tools(server: MCPServer, connect: Connect) -> None:
    @server.tool(annotations=READS)
    async def read_measures(
        context: Context[Any, Any],
        brand: Brand,
        days: Annotated[int, Field(description="Up to today.", ge=1, le=400)] = 30,
    ) -> Measures:
        """Reads how often a brand's articles were viewed on its site, and the links in its posts clicked. Robots are left out."""
        async with asking(connect, context) as services:
            told = await services.publisher.list_measures(brand, days=days, limit=20)
        return Measures(
            first=told["first"],
            last=told["last"],
            views=told["views"],
            clicks=told["clicks"],
            articles=[MeasuredArticle.model_validate(dict(each)) for each in told["items"]],
        )

    @server.tool(annotations=READS)
    async def read_calendar(
        context: Context[Any, Any],
        brand: Brand,
        days: Annotated[int, Field(description="From now on.", ge=1, le=31)] = 7,
    ) -> Calendar:
        """Reads what a brand publishes and posts in the next days, and what its schedules begin."""
        now = datetime.now(UTC)
        until = now + timedelta(days=days)
        async with asking(connect, context) as services:
            articles = await services.orchestrator.list_calendar_entries(
                brand=brand, from_=now, to=until, limit=100
            )
            posts = await services.social.list_calendar_entries(brand=brand, from_=now, to=until, limit=100)
        entries = [
            Planned(
                at=each["at"],
                kind=each["kind"],
                title=each["schedule"] or each["title"],
                place=None,
                state="planned",
                content_id=each["content_id"],
            )
            for each in articles["items"]
        ]
        entries += [
            Planned(
                at=each["at"],
                kind="post",
                title=each["title"],
                place=each["account"] or each["channel"],
                state=each["state"],
                content_id=each["content_id"],
            )
            for each in posts["items"]
        ]
        return Calendar(
            entries=sorted(entries, key=lambda each: datetime.fromisoformat(each.at)),
            is_cut=articles["next"] is not None or posts["next"] is not None,
        )
