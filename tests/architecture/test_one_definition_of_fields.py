"""A setting of a brand and a field of an article are defined once: all code that shows or stores them derives from the definition.

Each test adds one to the definition, in a process of its own, before anything else reads it.
"""

import subprocess
import sys

import pytest

SETTING = """
from typing import Annotated
from pydantic import Field
from envelope.brand import settings

class BrandSettings(settings.BrandSettings):
    mood: Annotated[int | None, Field(ge=1, le=5, description="How cheerful its articles are.")] = None

settings.BrandSettings = BrandSettings

from typer.utils import get_params_from_function
from brandctl.orchestrator import brands
from orchestrator.brands import models, store

assert {"mood"} <= models.BrandRequest.model_fields.keys() & models.BrandView.model_fields.keys() & store.BrandRow.model_fields.keys()
for part in ("insert into", "select $1", "set (", "updated_at = case"):
    line = next(line for line in store._UPSERT.splitlines() if part in line)
    assert "mood" in line, line
option = get_params_from_function(brands.set_brand)["mood"].default
assert (option.help, option.min, option.max) == ("How cheerful its articles are.", 1, 5)
assert "mood" in list(brands._ClearableSetting)
"""
FIELD = """
from datetime import UTC, datetime
from envelope.brand import article

class ArticleText(article.ArticleText):
    category: str | None = None

class ArticleEdit(article.ArticleEdit):
    category: str | None = None

article.ArticleText, article.ArticleEdit = ArticleText, ArticleEdit
article.LABELS["category"] = "Category"

from brandctl.orchestrator.draft_file import DraftFile
from orchestrator.article_workflow import models, store, versions
from orchestrator.review import differences, editing
from orchestrator.review.models import EditDraftBody, VersionView
from publisher.domain import Article
from writing import Article as WrittenArticle

assert "category" in versions.COLUMNS and "category" in store._INSERTED
for kind in (models.ContentView, VersionView, EditDraftBody, store.StoredContent, Article):
    assert "category" in kind.model_fields, kind
written = WrittenArticle("Tea", "tea", "About tea.", "Steep it.", 2, ("Steep it.",), ())
text = versions.text_of(written, (), ()).model_copy(update={"category": "Drinks"})
assert "Category: Drinks\\n" in differences.document(text)
draft = DraftFile.of({**text.model_dump(mode="json"), "version": 1})
assert DraftFile.parse(str(draft)).as_request("")["category"] == "Drinks"
assert editing.changed_text(text, EditDraftBody(version=1, category="Leaves"), by="ann", at=datetime.now(UTC)).category == "Leaves"
"""


def test_a_setting_of_a_brand_is_defined_once() -> None:
    run(SETTING)


@pytest.mark.extended
def test_a_field_of_an_article_is_defined_once() -> None:
    run(FIELD)


def run(script: str) -> None:
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
