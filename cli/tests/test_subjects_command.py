"""`brandctl subjects` and `brandctl submit --distinct`, in processes of their own, beside an orchestrator's API."""

import json

import httpx
import pytest

from messaging import Database
from tests.fixtures.commands.brandctl import Operator


@pytest.mark.extended
async def test_subjects_are_listed_joined_and_split(brandctl: Operator, api: httpx.AsyncClient) -> None:
    subjects = brandctl.of("subjects")
    none = await subjects("list", "acme")
    await api.post("/v1/brands/acme/research", json={"keywords": ["siphon coffee"]})

    joined = await subjects("join", "acme", "vacuum coffee", "siphon coffees")
    again = await subjects("join", "acme", "vacuum coffee", "siphon coffee", "--json")
    decided = await subjects("list", "acme", "--decisions")
    named = await subjects("list", "acme", "--keyword", "vacuum coffees")
    split = await subjects("split", "acme", "vacuum coffee")
    other = await subjects("list", "acme", "--keyword", "vacuum coffees", "--json")
    nobody = await subjects("split", "nobody", "vacuum coffee")

    assert (none.code, none.out) == (0, "")
    assert (joined.code, "are one subject" in joined.err, "already" in joined.err) == (0, True, False)
    assert json.loads(again.out)["changed"] is False
    assert "join vacuum coffee = siphon coffees" in decided.out
    assert named.out.splitlines()[1].split("\t") == ["siphon coffee", "0", "yes", "2:siphoncoffee"]
    assert split.code == 0
    assert json.loads(other.out)["items"] == []
    assert nobody.code == 1


async def test_keywords_are_submitted_as_distinct(
    brandctl: Operator, api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    submit = brandctl.of("submit")
    await api.post("/v1/brands/acme/research", json={"keywords": ["siphon coffee"]})

    first = await submit("acme", "siphon coffees", "--distinct")
    again = await submit("acme", "Siphon Coffees", "--distinct")

    assert (first.code, again.code) == (0, 0), first.err
    async with orchestrator_database.connection() as connection:
        rows = await connection.fetch("select keyword, follows from keywords where is_distinct order by 1")
    assert sorted((row["keyword"], row["follows"]) for row in rows) == [
        ("Siphon Coffees", True),
        ("siphon coffees", False),
    ]
