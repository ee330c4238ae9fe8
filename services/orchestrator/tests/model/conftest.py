"""The command to write an article by a model, and what it is carried out with."""

from uuid import UUID

import pytest
import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import BrandSettings
from messaging import Context, Database
from orchestrator.brands import upsert_brand
from tests.fixtures.models.judges import passed_exam
from tests.fixtures.models.model_writing import MessageOf
from tests.fixtures.models.scripted_model import ScriptedModel


@pytest.fixture
async def message(orchestrator_database: Database, message_of: MessageOf) -> DomainMessage[ContentGenerate]:
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            "daily-grind",
            BrandSettings(
                name="The Daily Grind", writer="model", approval="nothing", forbidden_words=("game-changer",)
            ),
        )
        await passed_exam(tx.connection, "default", ScriptedModel.model)
    return message_of(
        ContentGenerate(
            brand_slug="daily-grind", content_id=new_event_id(), research_id=UUID(int=5), keyword="cold brew"
        )
    )


@pytest.fixture
def context() -> Context:
    return Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())
