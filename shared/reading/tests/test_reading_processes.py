"""The processes that read documents: what one of them does to its process stays there."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from chassis.testing import eventually
from reading.extraction import extract
from reading.formats import UnreadableFileError
from reading.pool import HostileDocumentError, ReaderPool, ReadersUnavailableError

# The real program, but for the reading itself: it does as the document says.
OBEDIENT = """
import json, os, re, signal, time
from reading.document import ExtractedDocument
from reading import child, formats

kept = []

def obey(path, content, charset):
    order, _, argument = content.decode().partition(" ")
    if order == "spin":
        re.search("#+$", "#" * 10_000_000 + "x")  # one call that takes hours and holds the interpreter
    elif order == "eat":
        kept.append(b"x" * (int(argument) * 1024 * 1024))
    elif order == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif order == "die_once":
        try:
            os.mkfifo(argument)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    elif order == "print":
        print("!" * 5000, flush=True)
        os.write(1, b"!" * 5000)
    elif order == "fail":
        raise RecursionError("too deep")
    elif order == "refuse":
        raise formats.UnreadableFileError("it is a binary file")
    elif order == "surrogate":
        return ExtractedDocument(title="\\ud800", passages=())
    elif order == "environment":
        return ExtractedDocument(title=" ".join(sorted(os.environ)), passages=())
    return ExtractedDocument(title=f"{os.getpid()}", passages=())

def forge(sections):
    def encode(answer):
        text = json.dumps({"document": {"title": "a", "passages": []}, "sections": sections}).encode()
        return len(text).to_bytes(4, "big") + text
    return encode

child.extract = obey
child.main()
"""


@pytest.fixture
async def readers(tmp_path: Path) -> AsyncIterator[ReaderPool]:
    program = tmp_path / "obedient.py"
    program.write_text(OBEDIENT)
    async with ReaderPool((sys.executable, "-I", "-B", str(program))) as started:
        yield started


async def read(readers: ReaderPool, order: str) -> str:
    return (await readers.read("a.txt", order.encode())).title


async def test_documents_are_read_by_the_same_few_processes(readers: ReaderPool) -> None:
    pids = await asyncio.gather(*(read(readers, "hello") for _ in range(20)))
    assert len(set(pids)) == 2
    assert str(os.getpid()) not in pids


@pytest.mark.extended
async def test_an_endless_pattern_is_broken_off_and_holds_up_nobody(readers: ReaderPool) -> None:
    spinning = asyncio.create_task(read(readers, "spin"))
    longest, last = 0.0, time.thread_time()
    while not spinning.done():
        assert await read(readers, "hello")
        await asyncio.sleep(0.01)  # or the reading itself would take the processor from what is waited for
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
    with pytest.raises(HostileDocumentError, match="more than 3 seconds of processor time"):
        await spinning
    assert longest < 0.5
    assert await read(readers, "hello")


async def test_too_much_memory_is_refused(readers: ReaderPool) -> None:
    with pytest.raises(HostileDocumentError, match="160 MB of memory"):
        await read(readers, "eat 200")
    assert await read(readers, "hello")


@pytest.mark.extended
async def test_no_document_pays_for_the_memory_of_those_before_it(readers: ReaderPool) -> None:
    for _ in range(12):
        assert await read(readers, "eat 60")


async def test_who_ends_its_process_is_told_from_its_neighbours(readers: ReaderPool) -> None:
    orders = ["hello"] * 10 + ["die"] + ["hello"] * 10
    results = await asyncio.gather(*(read(readers, order) for order in orders), return_exceptions=True)
    assert [index for index, each in enumerate(results) if isinstance(each, BaseException)] == [10]
    assert "SIGSEGV" in str(results[10])


async def test_a_process_that_the_kernel_has_picked_costs_its_document_nothing(
    readers: ReaderPool, tmp_path: Path
) -> None:
    assert await read(readers, f"die_once {tmp_path / 'died'}")
    assert (tmp_path / "died").exists()


async def test_what_a_document_prints_is_no_answer(readers: ReaderPool) -> None:
    assert (await read(readers, "print")).isdecimal()


async def test_an_answer_that_is_none_condemns_its_document_alone(readers: ReaderPool) -> None:
    with pytest.raises(HostileDocumentError, match="malformed answer"):
        await read(readers, "surrogate")
    assert await read(readers, "hello")


@pytest.mark.parametrize(("order", "problem"), [("fail", "RecursionError: too deep"), ("refuse", "binary")])
async def test_a_file_that_cannot_be_used_says_why(readers: ReaderPool, order: str, problem: str) -> None:
    with pytest.raises(UnreadableFileError, match=problem):
        await read(readers, order)


async def test_the_whole_document_comes_out_of_its_process() -> None:
    page = (
        b"<title>Kilns</title><p>Heat <a href=x.html>it</a> slowly, and with care.</p><h2 id=a>Heat</h2>"
        b"<ol start=2><li>One<pre>x</pre></li></ol><dl><dt>a<dd>b</dl><div class=note><p>Hot.</p></div>"
        b"<table><tr><td>1<td>2</table><ul class=section-toc><li><a href=y.html>Clay</a></ul>"
    )
    async with ReaderPool() as readers:
        assert await readers.read("a.html", page) == extract("a.html", page)


@pytest.mark.extended
@pytest.mark.parametrize("sections", ["{'title': 1}", "{'title': 'a', 'level': 0}", "['a']"])
async def test_a_forged_tree_is_no_answer(tmp_path: Path, sections: str) -> None:
    program = tmp_path / "forger.py"
    program.write_text(OBEDIENT.replace("child.main()", f"child.encode = forge({sections})\nchild.main()"))
    async with ReaderPool((sys.executable, "-I", "-B", str(program))) as readers:
        with pytest.raises(HostileDocumentError):
            await read(readers, "hello")


async def test_no_secret_reaches_a_document(readers: ReaderPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", "a-service-key-for-tests")
    assert "SERVICE_KEY" not in await read(readers, "environment")


def test_a_process_that_reads_loads_no_web_server_and_no_driver() -> None:
    """It is started again for every document that is too much for it."""
    code = (
        "import sys, reading.child; "
        "print(sorted({'asyncio', 'asyncpg', 'fastapi', 'pydantic', 'structlog'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"


async def test_processes_end_with_the_work() -> None:
    before = children_of(os.getpid())
    shared = ReaderPool()
    async with shared as readers:
        async with shared:
            document = await readers.read("a.txt", b"A title\n\nThis is a sentence of more than six words.")
        assert document.title == "A title"
        children = children_of(os.getpid()) - before
        # Whoever leaves first does not take them away from the others.
        assert children
    assert not children & children_of(os.getpid())


async def test_who_is_cancelled_leaves_no_process(readers: ReaderPool) -> None:
    before = children_of(os.getpid())
    spinning = asyncio.create_task(read(readers, "spin"))
    await eventually(lambda: bool(children_of(os.getpid()) - before))
    (started,) = children_of(os.getpid()) - before
    spinning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await spinning
    assert started not in children_of(os.getpid())


async def test_who_is_cancelled_while_leaving_leaves_no_process() -> None:
    before = children_of(os.getpid())
    left = asyncio.Event()

    async def use() -> None:
        async with ReaderPool() as readers:
            await asyncio.gather(
                *(readers.read("a.txt", b"A sentence of more than six words, twice.") for _ in "ab")
            )
            left.set()

    using = asyncio.create_task(use())
    await left.wait()
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert not children_of(os.getpid()) - before


async def test_a_machine_that_starts_no_process_condemns_no_document(tmp_path: Path) -> None:
    for program in ((sys.executable, "-c", "raise SystemExit(3)"), (str(tmp_path / "missing"),)):
        async with ReaderPool(program) as readers:
            with pytest.raises(ReadersUnavailableError):
                await readers.read("a.txt", b"hello")


def children_of(pid: int) -> set[int]:
    found: set[int] = set()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since, and had none
            found.update(map(int, (thread / "children").read_text().split()))
    return found
