"""Code in an article is its source's, whole and word for word, below the paragraph that explains it; a model's own is cut."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from good_model import GoodModel, Notes, Subject

from writing.article import Article
from writing.model.writer import ModelWriter

SUBJECT = Subject("write-ahead-log")
LISTING = """\
```
# every five minutes, or after one gigabyte
checkpoint_timeout = 5min
max_wal_size = 1GB   # of ${data}/pg_wal, see https://db.example/wal
```"""
_FENCED = re.compile(r"^(?:```|~~~| {4}|\t)", re.MULTILINE)


async def write(model: GoodModel) -> Article:
    return await ModelWriter(model, Notes(), 32_768, model).write(
        keyword=SUBJECT.keyword, sources=SUBJECT.sources, brand_name="Acme", language="en"
    )


class PrintingModel(GoodModel):
    """Names this exhibit with each paragraph of each section."""

    def __init__(self, exhibit: str) -> None:
        super().__init__(SUBJECT)
        self._exhibit = exhibit

    def _sectiondraft(self, data: Any) -> dict[str, Any]:
        draft = super()._sectiondraft(data)
        for paragraph in draft["paragraphs"]:
            paragraph["exhibit"] = self._exhibit
        return draft


class CodingModel(GoodModel):
    """Begins each section with code of its own."""

    def __init__(self, code: str) -> None:
        super().__init__(SUBJECT)
        self._code = code

    def _sectiondraft(self, data: Any) -> dict[str, Any]:
        draft = super()._sectiondraft(data)
        own = {"text": self._code, "passages": [data["passages"][0]["id"]]}
        draft["paragraphs"][0]["sentences"].insert(0, own)
        return draft


async def test_a_listing_stands_below_what_explains_it_as_its_source_has_it() -> None:
    article = await write(GoodModel(SUBJECT))

    before, _, after = article.body_markdown.partition(LISTING)
    assert after
    assert before.rstrip().splitlines()[-1].endswith("grown by one gigabyte. [1]")
    assert len(_FENCED.findall(article.body_markdown)) == 2
    # Readers read it, and it is not counted as text.
    assert article.word_count < len(article.body_markdown.split()) - len(LISTING.split())


@pytest.mark.extended
@pytest.mark.parametrize(("exhibit", "times"), [("s1t2", 1), ("s1t9", 0), ("listing 3.2", 0), ("", 0)])
async def test_what_is_named_is_printed_once_and_in_its_section_and_what_there_is_not_is_left_out(
    exhibit: str, times: int
) -> None:
    article = await write(PrintingModel(exhibit))

    assert article.body_markdown.count(LISTING) == times
    assert len(_FENCED.findall(article.body_markdown)) == 2 * times
    if times:
        section = article.body_markdown.partition(LISTING)[0].rpartition("\n## ")[2]
        assert section.startswith("Checkpoints\n")


@pytest.mark.extended
@pytest.mark.parametrize(
    "code",
    [
        "```\nrm -rf /var/lib/db/log\n```",
        "    checkpoint_timeout = 30min",
        "{{listing 3.2}}",
        "{{s1t2}}",
        "`checkpoint_timeout` is set to 5min.",
        "~~~ sh rm -rf log ~~~",
        "<pre>rm -rf log</pre>",
        "Run rm -rf /var/lib/db/log first.",
    ],
)
async def test_code_of_the_models_own_is_cut_with_a_reason(code: str) -> None:
    article = await write(CodingModel(code))

    assert "rm -rf" not in article.body_markdown
    assert "{{" not in article.body_markdown
    assert "30min" not in article.body_markdown
    assert len(_FENCED.findall(article.body_markdown)) == 2
    assert article.evidence is not None
    cuts = [
        each for each in article.evidence.cuts if each.text.split(maxsplit=1)[0] == code.split(maxsplit=1)[0]
    ]
    assert cuts
    assert all(each.problem for each in cuts)
