"""Every link from one document to another leads to a file that is there, and to a heading that it has."""

import os
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
ELSEWHERE = {".venv", ".local", ".git", ".hypothesis", "node_modules", "build"}


def documents() -> list[Path]:
    return [path for path in ROOT.rglob("*.md") if not ELSEWHERE & set(path.relative_to(ROOT).parts[:-1])]


def prose(path: Path) -> str:
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """As GitHub makes them of headings."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#{1,6} (.+)$", prose(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def test_every_link_between_documents_leads_somewhere() -> None:
    broken = []
    for path in documents():
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
            if re.match(r"[a-z]+:", link):
                continue
            place, _, anchor = link.partition("#")
            target = Path(os.path.normpath(path.parent / place)) if place else path
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{path.relative_to(ROOT)}: {link}")
    assert broken == []


def links_of(path: Path) -> set[Path]:
    return {
        (path.parent / link.partition("#")[0]).resolve()
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(path))
        if not re.match(r"[a-z]+:", link)
    }


def test_every_page_is_in_the_index_of_its_folder_and_every_decision_by_its_title() -> None:
    docs = ROOT / "docs"
    for folder in (docs, docs / "operations", docs / "connect", docs / "decisions", docs / "tutorials"):
        pages = {path for path in folder.glob("*.md") if path.name != "README.md"}
        assert pages - links_of(folder / "README.md") == set(), f"not in {folder.name}/README.md"
    first = docs / "README.md"
    everywhere = {path for path in docs.rglob("*.md") if path.parent.name != "decisions" and path != first}
    assert everywhere - links_of(first) == set(), "docs/README.md lists every page"
    index = (docs / "decisions" / "README.md").read_text()
    for path in (docs / "decisions").glob("0*.md"):
        title = path.read_text().partition("\n")[0].removeprefix("# ")
        assert title.startswith(f"{int(path.name[:4])}. ")
        assert f"- [{title}]({path.name})\n" in index


def test_every_test_that_a_document_names_is_there() -> None:
    """With its path from the root, or by its name alone."""
    tests = {path for path in ROOT.rglob("test_*.py") if not ELSEWHERE & set(path.relative_to(ROOT).parts)}
    known = {str(path.relative_to(ROOT)) for path in tests} | {path.name for path in tests}
    named = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in documents()
        for name in re.findall(r"`([\w/.-]*test_\w+\.py)`", prose(path))
        if name not in known
    }
    assert named == set()
