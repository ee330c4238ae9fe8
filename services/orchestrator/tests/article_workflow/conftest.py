"""The command to write an article, and what it is carried out with."""

import pytest
import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import BrandSettings
from messaging import Context, Database
from orchestrator.brands import upsert_brand
from tests.fixtures.orchestrator.article_workflow import RESEARCH, MessageOf


@pytest.fixture
async def command(orchestrator_database: Database, message_of: MessageOf) -> DomainMessage[ContentGenerate]:
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            "daily-grind",
            BrandSettings(name="The Daily Grind"),
        )
    return message_of(
        ContentGenerate(
            brand_slug="daily-grind", content_id=new_event_id(), research_id=RESEARCH, keyword="kiln"
        ),
        "correlation",
    )


@pytest.fixture
def context() -> Context:
    return Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())
