"""The pattern of slugs is written once; code that may not import the contract has it word for word."""

from pathlib import Path

from envelope.brand.payloads import SLUG_PATTERN

ROOT = Path(__file__).parents[2]
HOMES = {
    "shared/envelope/src/envelope/brand/payloads.py",
    # These two stand on the chassis alone, which knows no brand.
    "shared/receipts/src/receipts/routes.py",
    "services/gateway/src/gateway/requests.py",
    # Other systems install it alone.
    "shared/client/src/client/brand_import.py",
}


def test_the_pattern_of_slugs_has_one_home() -> None:
    sources = [*ROOT.glob("services/*/src/**/*.py"), *ROOT.glob("shared/*/src/**/*.py")]
    found = {str(path.relative_to(ROOT)) for path in sources if SLUG_PATTERN.strip("^$") in path.read_text()}
    assert found == HOMES, "use SLUG_PATTERN or BrandSlug of envelope.brand.payloads"
