"""Tables of the documents say what the registries do."""

import re
from pathlib import Path

import pytest

from integrations.account_kinds import ACCOUNT_KINDS
from integrations.networks import NETWORKS
from integrations.sites import SITES

ROOT = Path(__file__).parents[2]
CONNECT = ROOT / "docs" / "connect"


def rows(page: Path, columns: int) -> list[tuple[str, ...]]:
    """The cells of every table with so many columns."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]
    return [each for each in cells if len(each) == columns]


def test_the_list_of_pages_has_each_network_and_site() -> None:
    said = [
        (f"[{each.title}]({each.documentation})", each.review, each.price, lost)
        for registry in (NETWORKS, SITES)
        for each in registry.values()
        for lost in [each.lost_post if registry is NETWORKS else each.lost_article]
    ]
    found = [
        (re.sub(r"\).*", ")", title), *(cell.replace("\N{EN DASH}", "") for cell in others))
        for title, *others in rows(CONNECT / "README.md", 4)
        if title.startswith("[")
    ]
    assert sorted(found) == sorted(said)


@pytest.mark.parametrize("page", [each.documentation for each in (*NETWORKS.values(), *SITES.values())])
def test_each_has_its_page(page: str) -> None:
    assert (CONNECT / page).is_file()


def test_the_gateway_lists_each_kind_of_account() -> None:
    kinds = [
        name for first, *_ in rows(ROOT / "docs/gateway.md", 4) for name in re.findall(r"`(\w+)`", first)
    ]
    assert set(ACCOUNT_KINDS) <= set(kinds)


def test_social_lists_the_limits_of_each_channel() -> None:
    said = {
        name.strip("`"): [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", limit)]
        for name, limit, _ in rows(ROOT / "docs/posts.md", 3)
    }
    for name, network in NETWORKS.items():
        assert said[name] == [limit.maximum for limit in network.limits]
