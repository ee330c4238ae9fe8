"""Runs the whole system on one machine: starts it, publishes articles, stops and removes it."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from brandctl import progress, signals
from brandctl.keyword_progress import BrandForm, CycleKeywords, read_cycle
from brandctl.local import model, processes
from brandctl.local.folder import LocalFolder
from brandctl.local.stack import LocalStack, started
from brandctl.local.start_link import console_address
from brandctl.terminal import say
from client.connections import Address
from client.services.gateway import Gateway
from client.services.orchestrator import Orchestrator

_POLL_SECONDS: Final = 0.4
_WATCH_SECONDS: Final = 2.0
_TOY: Final = (
    "The model of MODEL=local is a toy of 135 million parameters: it takes minutes for an article, and the checks drop most of"
    " what it writes. After the digests it writes on the first keyword once more, for a second brand."
)


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The options of the demo.

    Args:
        brand: name; None: the sample brand.
        keywords: empty: those of the sample brand.
        corpus: folder of documents.
        sample: JSON file of the sample brand.
        folder: `.local`.
        model: whether a small local model also writes, for a second brand.
        ends: whether the demo ends once every keyword has ended.
        patience: seconds for all keywords together, if `ends`.
        started: UNIX time at which the command began.
    """

    brand: str | None
    keywords: tuple[str, ...]
    corpus: Path
    sample: Path
    folder: Path
    model: bool
    ends: bool
    patience: float
    started: float


def run(options: DemoOptions, console: Console) -> bool:
    """Runs the demo; returns whether every keyword ended well, and whether the small model's keyword ended, if it writes.

    Raises:
        FolderInUseError, NotInstalledError, PortTakenError, StartError, ClientError, OSError: the demo cannot run; the message says why.
        Interrupted: a signal ended it; all processes that it started are gone by then.
    """
    brand, keywords = _input(options)
    if options.model:
        say(console, _TOY, "bold")
    folder = LocalFolder(options.folder)
    with signals.raised(), folder.held():
        (folder.root / "demo.json").unlink(missing_ok=True)
        if left := folder.clean():
            say(console, f"Ended what an earlier run left behind: {', '.join(left)}", "yellow")
        try:
            with _started(folder, options, console) as stack:
                cycle = _pipeline(stack, brand, keywords, options, console)
                progress.show_links(console, brand.slug, cycle, stack.addresses, console_address(stack))
                written = _by_model(stack, brand, keywords[0], options, console) if options.model else None
                told = report_of(cycle, time.time() - options.started, written)
                report = folder.write_json("demo.json", told)
                _hints(console, folder, report)
                if not options.ends:
                    _stay(stack, console)
        finally:
            folder.forget()
        return all(keyword.ended_well for keyword in cycle.keywords) and (written is None or written.ended)


def report_of(cycle: CycleKeywords, seconds: float, by_model: CycleKeywords | None = None) -> dict[str, Any]:
    """The content of `demo.json`."""
    report = {"correlation_id": cycle.correlation_id, "seconds": round(seconds, 1), "keywords": _ends(cycle)}
    if by_model is not None:
        report["by_model"] = {"correlation_id": by_model.correlation_id, "keywords": _ends(by_model)}
    return report


def _ends(cycle: CycleKeywords) -> list[dict[str, Any]]:
    return [
        {
            "keyword": keyword.keyword,
            "state": keyword.state,
            "reason": keyword.reason,
            "published_url": keyword.published_url,
            "posts": [*keyword.posts],
        }
        for keyword in cycle.keywords
    ]


def _input(options: DemoOptions) -> tuple[BrandForm, tuple[str, ...]]:
    sample = json.loads(options.sample.read_text())
    if options.brand in {None, sample["slug"]}:
        brand = BrandForm(sample["slug"], sample["name"], sample["description"])
    else:
        slug = str(options.brand)
        brand = BrandForm(slug, slug.replace("-", " ").title(), "")
    return brand, options.keywords or tuple(sample["keywords"])


@contextmanager
def _started(folder: LocalFolder, options: DemoOptions, console: Console) -> Iterator[LocalStack]:
    """The stack, with the small model if it writes."""
    with ExitStack() as cleanup:
        writing = _model(folder, cleanup) if options.model else None
        stack = cleanup.enter_context(
            started(
                folder,
                options.corpus,
                console,
                lambda addresses: {
                    "orchestrator": {"MODEL_URL": f"{addresses.url('gateway')}/v1", **model.PATIENCE}
                    if writing
                    else {}
                },
            )
        )
        if writing:
            writing.wait()
            stack.children.append(writing.child)
            with Gateway(Address(stack.addresses.url("gateway"), stack.service_key)) as gateway:
                gateway.connect_provider(model.ACCOUNT, **writing.account)
        yield stack


def _model(folder: LocalFolder, cleanup: ExitStack) -> model.LocalModel:
    if os.environ.get("POSTGRES_URL"):
        # A shared database would outlive the model, and may have another model under its name.
        raise processes.StartError("the small model takes a private PostgreSQL: unset POSTGRES_URL")
    server = model.launch(Path(), log=folder.logs / "model.log")
    cleanup.callback(server.stop)
    folder.remember(server.child)
    return server


def _pipeline(
    stack: LocalStack, brand: BrandForm, keywords: tuple[str, ...], options: DemoOptions, console: Console
) -> CycleKeywords:
    """Submits the keywords and follows them until they have ended, or for `patience` seconds if the demo ends without Ctrl-C."""
    say(console, f"{brand.name}: {len(keywords)} keyword{'s' if len(keywords) > 1 else ''}")
    died = _DeathWatcher(stack, console)
    with Orchestrator(Address(stack.addresses.url("orchestrator"), stack.service_key)) as api:
        api.set_brand(brand.slug, name=brand.name, description=brand.description, writer=brand.writer)
        cycle_id = api.submit_keywords(brand.slug, json.dumps({"keywords": keywords}))["cycle_id"]
        deadline = time.monotonic() + options.patience
        with progress.ProgressView(console) as view:
            while True:
                cycle = read_cycle(api, cycle_id, brand.writer)
                view.show(cycle)
                if cycle.ended or died.report():
                    return cycle
                if options.ends and time.monotonic() > deadline:
                    say(console, f"Not every keyword ended within {options.patience:.0f} s", "red")
                    return cycle
                time.sleep(_POLL_SECONDS)


def _by_model(
    stack: LocalStack, brand: BrandForm, keyword: str, options: DemoOptions, console: Console
) -> CycleKeywords:
    """Submits the first keyword again, for a brand that the small model writes for; an article takes it minutes."""
    say(console, "")
    say(console, "The toy writes now, which takes minutes; Ctrl-C ends the demo.", "bold")
    second = replace(brand, slug=f"{brand.slug}-model", name=f"{brand.name}, by a model", writer="model")
    cycle = _pipeline(stack, second, (keyword,), options, console)
    progress.show_links(console, second.slug, cycle, stack.addresses, f"{stack.addresses.url('console')}/")
    return cycle


def _hints(console: Console, folder: LocalFolder, report: Path) -> None:
    say(console, "")
    say(console, f"Report: {report}")
    say(console, f"Logs: {folder.logs}/")
    say(console, f"Addresses and service key, for a shell: . {folder.settings}")


def _stay(stack: LocalStack, console: Console) -> None:
    say(
        console,
        "Everything stays up until Ctrl-C; then all of it is removed. `make run` keeps what it does.",
        "bold",
    )
    died = _DeathWatcher(stack, console)
    try:
        while True:
            signals.check()
            died.report()
            time.sleep(_WATCH_SECONDS)
    except signals.Interrupted:
        return


class _DeathWatcher:
    """Reports each service that ended unexpectedly, once."""

    def __init__(self, stack: LocalStack, console: Console) -> None:
        self._watched = list(stack.children)
        self._console = console

    def report(self) -> bool:
        """Reports services that died since the last call; returns whether there are any."""
        dead = [child for child in self._watched if not child.running]
        for child in dead:
            self._watched.remove(child)
            say(
                self._console,
                f"{child.name} died with code {child.process.returncode}. The end of {child.log}:",
                "red",
            )
            say(self._console, child.log_tail())
        return bool(dead)
