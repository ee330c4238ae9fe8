"""`brandctl demo` as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from brandctl import demo
from brandctl.keyword_progress import CycleKeywords, KeywordProgress, answers_in_words
from brandctl.local import model, processes, services
from brandctl.local.folder import LocalFolder

ROOT = Path(__file__).parents[3]
UP_WITHIN_SECONDS = 120


def progress(**fields: Any) -> KeywordProgress:
    return KeywordProgress("filters", **fields)


POST = "http://127.0.0.1/post"


@pytest.mark.parametrize(
    ("keyword", "well"),
    [
        (progress(state="completed", published_url="http://127.0.0.1/page", posts=(POST,)), True),
        (progress(state="completed", published_url="http://127.0.0.1/page"), False),
        (progress(state="completed", posts=(POST,)), False),
        (progress(state="completed", has_standing_article=True, reason="it stands"), True),
        (progress(state="refused", reason="insufficient_sources"), True),
        (progress(state="refused"), False),
        (progress(state="needs_review", reason="231 words"), True),
        (progress(state="needs_review"), False),
        (progress(state="failed", reason="publisher unreachable"), False),
        (progress(state="promoting", published_url="http://127.0.0.1/page", posts=(POST,)), False),
    ],
)
def test_a_keyword_ends_well_when_published_and_posted_or_kept_back_with_a_reason(
    keyword: KeywordProgress, well: bool
) -> None:
    assert keyword.ended_well is well


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ({"fetch_research": True}, "the model reads its first question"),
        ({"fetch_research": True, "model:section 1": False}, "the model reads its first question"),
        ({"model:section 1": True}, "1 answer of the model so far, 1,234 tokens; the last one: section 1"),
        (
            {"model:section 1": True, "model:section 1.mend": True, "write_article": False},
            "2 answers of the model so far, 1,234 tokens; the last one: section 1.mend",
        ),
    ],
)
def test_a_model_that_takes_minutes_shows_how_far_it_is(steps: dict[str, bool], told: str) -> None:
    workflow = {
        "steps": [{"name": name, "finished_at": done or None} for name, done in steps.items()],
        "tokens": {"read": 9, "written": 1234},
        "in_hand": True,
    }
    assert answers_in_words(workflow) == told


def test_the_report_tells_every_keywords_end() -> None:
    done = progress(state="completed", published_url="http://127.0.0.1/page", posts=(POST,))
    cycle = CycleKeywords("c", (done, progress(state="refused", reason="why")))
    assert demo.report_of(cycle, 12.345) == {
        "correlation_id": "c",
        "seconds": 12.3,
        "keywords": [
            {
                "keyword": "filters",
                "state": "completed",
                "reason": None,
                "published_url": "http://127.0.0.1/page",
                "posts": ["http://127.0.0.1/post"],
            },
            {"keyword": "filters", "state": "refused", "reason": "why", "published_url": None, "posts": []},
        ],
    }
    refused = progress(state="refused", reason="unsupported_draft: nothing of the draft is supported")
    by_model = CycleKeywords("m", (refused,))
    told = demo.report_of(cycle, 12.345, by_model)["by_model"]
    assert (told["correlation_id"], [each["reason"] for each in told["keywords"]]) == ("m", [refused.reason])


class Run:
    """A demo in a folder of its own."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.local = folder / ".local"
        self.output = folder / "output"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "from brandctl.app import main; main()",
                    "demo",
                    "--folder",
                    self.local,
                ],
                cwd=ROOT,
                env=environment() | variables,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + UP_WITHIN_SECONDS
        while text not in self.output.read_text():
            assert self.process.poll() is None, self.output.read_text()
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.05)

    def children(self) -> list[processes.ProcessIdentity]:
        rows = json.loads((self.local / "processes.json").read_text())
        return [processes.ProcessIdentity(**row) for row in rows]


def environment() -> dict[str, str]:
    chosen = {"BRAND", "CORPUS", "DEMO_EXIT", "DEMO_STARTED", "MODEL", "SERVICE_KEY"}
    # A demo uses the servers that these name; this one must start its own.
    chosen |= {"POSTGRES_URL", "RABBITMQ_API_URL", "RABBITMQ_URL"}
    inherited = {name: value for name, value in os.environ.items() if name not in chosen}
    return inherited | {"KEYWORDS": "grind size, mortgage refinancing"}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    tmp_path.chmod(0o711)
    running = Run(tmp_path)
    yield running
    if running.process.poll() is None:
        running.process.terminate()
        running.process.wait(60)


def wait_for(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + UP_WITHIN_SECONDS
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def all_gone(children: list[processes.ProcessIdentity]) -> bool:
    deadline = time.monotonic() + 60
    while any(processes.identify(child.name, child.pid) == child for child in children):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def assert_told_addresses_lead_to_the_services(run: Run) -> None:
    """A shell finds API and key through `demo.env`, and `brandctl` in that folder finds its monitor without options."""
    asked = f'. .local/demo.env && {sys.executable} -c "$ASK" $MONITOR_URL/v1/dead-letters'
    ask = (
        "import os, sys, httpx; key = {'X-Service-Key': os.environ['SERVICE_KEY']}; "
        "print(httpx.get(sys.argv[1], headers=key).raise_for_status().json()['open'])"
    )
    shell = subprocess.run(
        ["sh", "-c", asked],
        cwd=run.local.parent, env=environment() | {"ASK": ask}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (shell.returncode, shell.stdout) == (0, "0\n"), shell.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "brandctl", "dead-letters", "list"],
        cwd=run.local.parent, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "No dead letters" in listed.stderr


def assert_a_provider_can_be_connected(run: Run) -> None:
    """Its key is encrypted with one that the folder keeps, for its owner alone."""
    command = [sys.executable, "-m", "brandctl", "providers", "connect", "brave"]
    connected = subprocess.run(
        command,
        cwd=run.local.parent, env=environment(), input="a-key-of-brave", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (connected.returncode, connected.stderr) == (0, "brave is connected\n")
    assert (run.local / "gateway-keys").stat().st_mode & 0o777 == 0o600


def assert_each_service_is_a_user_of_its_own_at_the_broker(run: Run) -> None:
    users = {}
    for child in run.children():
        if child.name in services.NAMES:
            variables = Path(f"/proc/{child.pid}/environ").read_text().split("\0")
            [url] = [each.partition("=")[2] for each in variables if each.startswith("RABBITMQ_URL=")]
            users[child.name] = urlsplit(url).username
    assert users == {name: f"brand_{name}" for name in services.NAMES}


@pytest.mark.extended
def test_a_demo_publishes_stays_up_and_leaves_nothing_running(run: Run) -> None:
    run.wait_for("stays up until Ctrl-C")
    report = json.loads((run.local / "demo.json").read_text())
    output = run.output.read_text()
    assert {keyword["keyword"]: keyword["state"] for keyword in report["keywords"]} == {
        "grind size": "completed",
        "mortgage refinancing": "refused",
    }, output
    for keyword in report["keywords"]:
        for link in (keyword["published_url"], *keyword["posts"]):
            assert link is None or f"  {link}\n" in output

    assert_told_addresses_lead_to_the_services(run)
    assert_a_provider_can_be_connected(run)
    assert_each_service_is_a_user_of_its_own_at_the_broker(run)

    second = subprocess.run(
        [sys.executable, "-c", "from brandctl.app import main; main()", "demo", "--folder", run.local],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 1
    assert "another run holds" in second.stderr

    children = run.children()
    assert {child.name for child in children} >= set(services.PROCESSES)
    assert len(children) == len(services.PROCESSES) + 3  # and the servers, with the name server of the broker
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(60) == 0
    assert all_gone(children)
    assert sorted(path.name for path in run.local.iterdir()) == [
        "demo.json",
        "gateway-keys",
        "lock",
        "logs",
        "secret",
    ]


@pytest.mark.extended
def test_a_demo_that_is_killed_takes_everything_with_it_and_the_next_one_cleans_up(run: Run) -> None:
    run.wait_for("Starting the services")
    children = run.children()
    data = (run.local / "run" / "postgres").resolve()
    run.process.kill()
    run.process.wait()
    assert all_gone(children)
    assert data.is_dir()
    folder = LocalFolder(run.local)
    with folder.held():
        folder.clean()
    assert not data.exists()


@pytest.mark.real
def test_a_small_model_writes_for_a_second_brand_and_ends_with_the_demo(tmp_path: Path) -> None:
    if not (ROOT / ".venv-model").exists():
        pytest.skip("deploy/local/setup-model.sh installs the model")
    tmp_path.chmod(0o711)
    run = Run(tmp_path, MODEL="local", KEYWORDS="grind size")
    try:
        run.wait_for("The Daily Grind, by a model: 1 keyword\n")
        assert run.output.read_text().startswith(
            "The model of MODEL=local is a toy of 135 million parameters"
        )
        children = run.children()
        assert "model" in {child.name for child in children}
        # An article takes it minutes; the first question reaches it soon.
        wait_for(lambda: "processing task" in (run.local / "logs" / "model.log").read_text())
    finally:
        run.process.send_signal(signal.SIGINT)
        run.process.wait(60)
    assert all_gone(children)


def test_a_model_that_is_not_installed_is_not_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "model.log"
    with pytest.raises(processes.StartError, match="setup-model"):
        model.launch(tmp_path, log=log)
    assert not log.exists()
