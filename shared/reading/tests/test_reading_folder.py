"""Which files of a folder are documents."""

from pathlib import Path

from reading.folder import MIN_TWINS, scan


def test_texts_that_a_generator_left_beside_its_pages_are_no_documents(tmp_path: Path) -> None:
    for n in range(MIN_TWINS):
        (tmp_path / f"kiln-{n}.html").write_text("<p>Kilns are hot.</p>")
        (tmp_path / f"kiln-{n}.txt").write_text("Kilns are hot.")
    (tmp_path / "notes.txt").write_text("Kilns are heavy.")
    assert [each.path for each in scan(tmp_path)] == [
        *(f"kiln-{n}.html" for n in range(MIN_TWINS)),
        "notes.txt",
    ]


def test_a_text_beside_a_page_of_the_same_name_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "kiln.html").write_text("<p>Kilns are hot.</p>")
    (tmp_path / "kiln.txt").write_text("Kilns are heavy.")
    assert [each.path for each in scan(tmp_path)] == ["kiln.html", "kiln.txt"]
