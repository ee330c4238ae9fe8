"""A keyword finds what is said in other words for it, and still refuses what the corpus does not treat."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from messaging import Database
from reading.pool import ReaderPool
from reading.ranking.sources import InsufficientSources, ResearchResult
from research.clients.local_corpus import LocalCorpus

DEMO = Path(__file__).parents[3] / "deploy" / "demo" / "corpus"
SERVERS = {
    "laptops.md": "# Laptops on the road\n\nWhoever travels had better encrypt the whole drive, because a stolen laptop tells"
    " all it knows. The key of an encrypted drive is asked for when the machine starts.",
    "partitions.md": "# Encrypting a partition\n\nA partition is encrypted before a filesystem is made on it, with a passphrase"
    " that nobody else knows. What was on the partition is lost.",
    "volumes.md": "# Logical volumes\n\nEncrypted volumes may lie on several devices at once, and grow while they are in use."
    " Each encrypted volume has a header of its own, of which one keeps a copy.",
    "weekly.md": "# Every Sunday\n\nBefore the office opens, the server backs up its databases to the machine in the basement."
    "\n\n## The tapes\n\nNobody checks the tapes, although a backup that was never tried is worth little.",
    "moving.md": "# Moving to a new machine\n\nBack up the old machine first, and try whether the copy can be read."
    "\n\n## Afterwards\n\nThe first backup of the new machine takes the longest of all.",
    "disaster.md": "# After the fire\n\nWhat had been backed up in another town was there the next morning, and nothing else."
    "\n\n## Since then\n\nBacking up to the same building no longer counts here.",
    "colour.md": "# Screens\n\nThe color of a screen changes with the hours it has been on, and with the light of the room.",
    "dark.md": "# Dark themes\n\nOn a dark ground each color looks brighter than it is, so choose a color that is calm.",
    "print.md": "# Printing\n\nWhat the printer makes of a color is never what the screen had shown before.",
}
# Everyday subjects that nobody treats here, a good part of them made of words that stand for others in documents that do exist.
OFF_TOPIC = (
    "drive a car in the snow",
    "restaurant tips",
    "car repair costs",
    "sell a house",
    "start a garden",
    "hair loss",
    "tennis serve",
    "horse stable",
    "wedding table decoration",
    "piano keys",
    "guitar chords",
    "running shoes",
    "dog food allergy",
    "school exam",
    "movie script writing",
    "roof repair",
    "pension fund",
    "baby names",
    "river fishing licence",
    "human memory loss",
)


def corpus(folder: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


async def read(database: Database, folder: Path) -> LocalCorpus:
    found = LocalCorpus(database, folder, readers=ReaderPool())
    await found.refresh()
    return found


async def paths(corpus: LocalCorpus, keyword: str) -> set[str | None]:
    findings = await corpus.search(keyword, brand="acme")
    return {source.path for source in findings.sources} if isinstance(findings, ResearchResult) else set()


async def test_other_words_for_a_thing_find_it(research_database: Database, tmp_path: Path) -> None:
    servers = await read(research_database, corpus(tmp_path, SERVERS))
    encrypting = {"laptops.md", "partitions.md", "volumes.md"}
    for keyword in (
        "disk encryption",
        "encrypting a partition",
        "encrypted volumes",
        "drive encryption",
    ):
        assert await paths(servers, keyword) == encrypting, keyword


async def test_verbs_of_two_words_are_the_noun(research_database: Database, tmp_path: Path) -> None:
    servers = await read(research_database, corpus(tmp_path, SERVERS))
    for keyword in ("backup", "backups", "back-up", "back up", "backing up"):
        assert await paths(servers, keyword) == {"weekly.md", "moving.md", "disaster.md"}, keyword


async def test_a_word_used_once_in_each_of_two_places_is_used_repeatedly(
    research_database: Database, tmp_path: Path
) -> None:
    said = (
        (
            "The shade of the crema tells how old the beans are.",
            "Where no crema is, the grinder is to blame.",
        ),
        ("Stir it, and the crema gives back what it held.", "Sugar sinks through crema that is any good."),
        (
            "Milk breaks the crema at once, cold milk most of all.",
            "From robusta comes more crema than one likes.",
        ),
    )
    texts = {f"{n}.md": f"# Note {n}\n\n{one}\n\n## More\n\n{two}" for n, (one, two) in enumerate(said)}
    assert len(await paths(await read(research_database, corpus(tmp_path, texts)), "crema")) == 3


async def test_spellings_of_a_word_are_one_word(research_database: Database, tmp_path: Path) -> None:
    servers = await read(research_database, corpus(tmp_path, SERVERS))
    assert await paths(servers, "screen colour") == await paths(servers, "screen color")


async def test_words_that_are_near_count_beside_the_keywords_own_alone(
    research_database: Database, tmp_path: Path
) -> None:
    servers = await read(research_database, corpus(tmp_path, SERVERS))
    # "volume" is near "disk": alone it is something else, and so are two words that are near the keyword's two.
    for keyword in ("disk", "disk snapshot photograph"):
        assert await paths(servers, keyword) == set(), keyword


@pytest.mark.parametrize("texts", ["servers", "coffee"])
async def test_what_the_corpus_does_not_treat_stays_refused(
    research_database: Database, tmp_path: Path, texts: str
) -> None:
    foreign = await read(research_database, DEMO if texts == "coffee" else corpus(tmp_path, SERVERS))
    findings = {keyword: await foreign.search(keyword, brand="acme") for keyword in OFF_TOPIC}
    accepted = [keyword for keyword, each in findings.items() if not isinstance(each, InsufficientSources)]
    assert len(accepted) <= 1, accepted
