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
