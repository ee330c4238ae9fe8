"""Tools that find brands, articles and keywords."""

from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from assistants.services import READS, Connect, asking

Brand = Annotated[str, Field(description="The brand's slug, from list_brands.", min_length=1, max_length=63)]
MostFound = Annotated[int, Field(description="The most of each kind.", ge=1, le=25)]


class BrandName(BaseModel):
    slug: str
    name: str


class Brands(BaseModel):
    brands: list[BrandName]
    next: str | None
    """Send it as `after` for more; null: there are no more."""


class FoundArticle(BaseModel):
    content_id: str
    title: str
    keyword: str
    state: str
    words: int
    published_url: str | None


class FoundKeyword(BaseModel):
    keyword: str
    state: str
    reason: str | None
    """Why it ended without an article."""
    waits: str | None
    """What it waits for."""
    content_id: str | None
    cycle_id: str


class FoundItems(BaseModel):
    articles: list[FoundArticle]
    keywords: list[FoundKeyword]


def add_tools(server: MCPServer, connect: Connect) -> None:
    @server.tool(annotations=READS)
    async def list_brands(
        context: Context[Any, Any],
        after: Annotated[str | None, Field(description="`next` of the list before.", max_length=63)] = None,
    ) -> Brands:
        """Lists the brands that the key may see."""
        async with asking(connect, context) as services:
            found = await services.orchestrator.list_brand_names(after=after)
        return Brands(
            brands=[BrandName(slug=each["slug"], name=each["name"]) for each in found["items"]],
            next=found["next"],
        )

    @server.tool(annotations=READS)
    async def find(
        context: Context[Any, Any],
        brand: Brand,
        text: Annotated[
            str, Field(description="Words of titles and keywords.", min_length=1, max_length=200)
        ],
        limit: MostFound = 10,
    ) -> FoundItems:
        """Finds a brand's articles and keywords by words, the latest first. Look here before you submit a keyword."""
        async with asking(connect, context) as services:
            articles = await services.orchestrator.search_for_articles(brand=brand, q=text, limit=limit)
            keywords = await services.orchestrator.search_for_keywords(brand=brand, q=text, limit=limit)
        return FoundItems(
            articles=[
                FoundArticle(
                    content_id=each["content_id"],
                    title=each["title"],
                    keyword=each["keyword"],
                    state=each["state"],
                    words=each["word_count"],
                    published_url=each["published_url"],
                )
                for each in articles["items"]
            ],
            keywords=[FoundKeyword.model_validate(dict(each)) for each in keywords["items"]],
        )
