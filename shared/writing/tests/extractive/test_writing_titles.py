"""Titles that name their subject, and read like titles."""

import pytest

from writing.article import MAX_TITLE
from writing.extractive.titles import article_title, is_change, shortened, tidy, work_name


@pytest.mark.parametrize(
    ("keyword", "title", "page", "expected"),
    [
        ("Wood kilns", "Wood kilns", "", "Wood kilns"),
        ("wood kilns", "Kilns of all kinds", "", "Wood kilns"),
        ("generic", "Kilnworks manual - generic(5)", "", "generic (Kilnworks)"),
        ("generic", "generic(5)", "", "generic"),
        ("fire", "fire", "Calls of the kiln", "fire (Calls of the kiln)"),
        ("\\dot [<size>=<n>]", "\\dot [<size>=<n>]", "Special Commands", "\\dot (Special Commands)"),
        ("\\dot [<size>=<n>]", "Special Commands", "", "\\dot (Special Commands)"),
        ("Principles", "Principles", "Introduction to kilns", "Principles (Introduction to kilns)"),
        ("Principles of kilns", "Principles of kilns", "Introduction to kilns", "Principles of kilns"),
        ("Wood kilns", "Wood kilns", "Pottery", "Wood kilns"),
        ("Principles", "Principles", "A title that is much too long to stand behind another", "Principles"),
        ("SEEK_END", "Positions of a file", "", "SEEK_END"),
        ("Glaze added (#12)", "Glaze added (#12)", "", "Glaze added"),
        ("Firing a kiln.", "Firing a kiln.", "", "Firing a kiln"),
        ("Step 2: Glazing a pot", "Step 2: Glazing a pot", "", "Glazing a pot"),
        ("SSHFS", "SSHFS", "", "SSHFS"),
    ],
)
def test_a_title_names_the_subject(keyword: str, title: str, page: str, expected: str) -> None:
    assert article_title(keyword, title, is_entry=False, page=page) == expected


@pytest.mark.parametrize(
    ("title", "page", "is_entry", "expected"),
    [
        ("Features", "", False, "Features (Kilnworks)"),
        ("Main features", "Introduction", False, "Main features (Kilnworks)"),
        ("Principles", "Wood kilns", False, "Principles (Wood kilns)"),
        ("fire", "Calls by name", True, "fire (Kilnworks)"),
        ("Glazes", "", False, "Glazes"),
        ("2. GLAZES AND CLAYS", "", False, "Glazes and clays"),
    ],
)
def test_a_general_title_names_its_page_or_work(title: str, page: str, is_entry: bool, expected: str) -> None:
    assert article_title(title, title, is_entry=is_entry, page=page, work="Kilnworks") == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("In Kilnworks, glazes melt.", "As with Kilnworks before.", "Use Kilnworks."), "Kilnworks"),
        (("In Kilnworks, glazes melt.", "As with Kilnworks."), ""),
        (("Fire with Kilnworks." * 5,), "Kilnworks"),
        (("With the GPU only.",) * 3, ""),
        ((), ""),
    ],
)
def test_a_work_is_named_by_most_of_its_texts(texts: tuple[str, ...], expected: str) -> None:
    assert work_name(texts) == expected


def test_a_name_of_code_on_another_page_keeps_its_case() -> None:
    assert article_title("hold", "Plot windows", is_entry=False, names={"hold"}) == "hold (Plot windows)"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("[static] Pot Kiln::fire(const Clay &clay)", "Kiln::fire"),
        ("template <typename T> typename std::add_const<T>::type &asClay(T &t)", "asClay (Kiln Class)"),
        ("double Kiln::heat(View s, bool *ok = nullptr) const", "Kiln::heat"),
        ("Shelf Kiln::operator[](int place)", "Kiln::operator[]"),
        ("Glazing with ash (wood & gas)", "Glazing with ash (wood & gas)"),
        ("enum Kiln::Fuel", "enum Kiln::Fuel"),
    ],
)
def test_a_declaration_gives_its_name(title: str, expected: str) -> None:
    assert article_title(title, title, is_entry=False, page="Kiln Class") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Blocking backscatter mail with forged mail server information",
            "Blocking backscatter mail",
        ),
        (
            "Heat Management: Advanced Configuration and Chamber Interface (ACCI)",
            "Heat Management: Advanced Configuration",
        ),
        (
            "How the limits of a destination affect the scheduling of a kiln",
            "How the limits of a destination affect the scheduling",
        ),
    ],
)
def test_a_long_title_ends_at_a_phrase(text: str, expected: str) -> None:
    assert len(text) > MAX_TITLE >= len(expected)
    assert shortened(text, MAX_TITLE) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [("3 - Glazes", "Glazes"), ("4.1 – Getting started", "Getting started"), ("24 hours", "24 hours")],  # noqa: RUF001
)
def test_a_number_is_no_title(title: str, expected: str) -> None:
    assert tidy(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Support for glazes (#1542)", True),
        ("Version 1.4.0 (2022-09-27)", True),
        ("Release Notes", True),
        ("Fixed gears", False),
        ("Kilns (wood)", False),
    ],
)
def test_a_line_of_a_change_log(title: str, expected: bool) -> None:
    assert is_change(title) is expected
