"""`make new-service`, and the walks of CONTRIBUTING.md for a service and a message, in a copy of this checkout."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
_BRAND: Final = "shared/envelope/src/envelope/brand"
_HANDLER: Final = '''

async def forget_notes(messages: Sequence[DomainMessage[BillingForget]], tx: Transaction) -> None:
    """Removes the notes."""
    ids = [message.payload.note_id for message in messages]
    await tx.connection.execute("delete from notes where note_id = any($1)", ids)
'''
_SENDING: Final = """
    for message in messages:
        tx.send(BillingForget(note_id=message.payload.note_id), caused_by=message, delay=_KEPT)
""".lstrip("\n")
_TEST: Final = """

async def test_a_note_is_forgotten(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]]
) -> None:
    url = await make_database("billing")
    settings = Settings(rabbitmq_url=broker_urls["billing"], database_url=url, service_key=KEY, http_port=0)
    async with running(build(settings)) as service:
        note_id = new_event_id()
        async with service.database.transaction() as tx:
            await tx.connection.execute("insert into notes (note_id, note) values ($1, 'x')", note_id)
            tx.send(BillingForget(note_id=note_id))

        async def forgotten() -> bool:
            async with service.database.connection() as connection:
                return not await connection.fetchval("select count(*) from notes")

        assert await eventually(forgotten)
"""
MESSAGE: Final = (
    (
        f"{_BRAND}/payloads.py",
        "",
        '\n\nclass BillingForget(Payload):\n    """Forget a note."""\n\n    note_id: UUID\n',
    ),
    (
        f"{_BRAND}/catalogue.py",
        "    ),\n)\n",
        '        command("billing.forget", payloads.BillingForget, to="billing", producers=("billing",)),\n',
    ),
    (
        f"{_BRAND}/examples.py",
        ")\n\n\ndef _messages(",
        "    (payloads.BillingForget(note_id=_REPLAY), payloads.BillingRequested),\n",
    ),
    ("services/billing/src/billing/handlers.py", "", _HANDLER),
    ("services/billing/src/billing/handlers.py", "    await tx.connection.execute(_STORE", _SENDING),
    ("services/billing/src/billing/handlers.py", "_STORE: Final", "_KEPT: Final = timedelta(days=30)\n"),
    ("services/billing/src/billing/handlers.py", "from typing import", "from datetime import timedelta\n"),
    ("services/billing/src/billing/handlers.py", "BillingRequested\n", "BillingForget, "),
    ("services/billing/src/billing/app.py", "BillingRequested\n", "BillingForget, "),
    ("services/billing/src/billing/app.py", "store_notes\n", "forget_notes, "),
    (
        "services/billing/src/billing/app.py",
        "on_batch(store_notes",
        "on_batch(forget_notes, BillingForget), ",
    ),
    ("services/billing/tests/test_billing.py", "", _TEST),
    (
        "services/billing/tests/test_billing.py",
        "\nKEY =",
        "\nfrom envelope import new_event_id\nfrom envelope.brand.payloads import BillingForget\n",
    ),
)  # fmt: skip
"""What somebody writes for the message: file, the text before which it goes (empty: the end), and the lines."""


class Checkout:
    """A copy of this checkout, in which commands find the copy's packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        left_out = shutil.ignore_patterns(
            ".git", ".venv*", ".local", ".secrets", "__pycache__", ".*_cache", "*.egg-info", ".hypothesis"
        )
        shutil.copytree(ROOT, folder, ignore=left_out)

    def run(self, *command: str) -> str:
        sources = [
            *self.folder.glob("shared/*/src"),
            *self.folder.glob("services/*/src"),
            *(self.folder / path for path in ("cli/src", "tests/fakes/src", "tests/faults/src", "benchmarks/src")),
            *self.folder.glob("examples/*/src"),
            self.folder / "deploy" / "kubernetes",
            self.folder / "deploy" / "reference",
        ]  # fmt: skip
        # Found before the packages that are installed from this checkout.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sources))}
        ended = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def python(self, *arguments: str) -> str:
        return self.run(sys.executable, *arguments)

    def make_schemas(self) -> None:
        """What `make schemas` runs after it has installed what is missing."""
        makefile = (self.folder / "Makefile").read_text()
        recipe = re.search(r"^schemas:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert recipe
        for line in recipe[1].splitlines():
            if "$(BIN)/python" in line:
                self.python(*line.partition("$(BIN)/python ")[2].split())

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file() and not {"__pycache__", ".ruff_cache"} & set(path.parts)
        }


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name, content in after.items() if before.get(name) != content}


def files_of_walk(section: str) -> set[str]:
    """The files that the list of a section of CONTRIBUTING.md names."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    items = re.findall(r"^- (`.*(?:\n  .*)*)", text, re.MULTILINE)
    return {name for item in items for name in re.findall(r"`([^`]+)`", item.partition(":")[0])}


@pytest.fixture
def kubectl() -> str:
    """The pinned kubectl of this checkout, which renders manifests."""
    install = [ROOT / "deploy" / "kubernetes" / "install-kubectl.sh"]
    return subprocess.run(install, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout.strip()


@pytest.mark.slow
def test_a_service_and_a_message_take_the_files_that_the_walks_name_and_work(
    tmp_path: Path, kubectl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o711)
    checkout = Checkout(tmp_path / "checkout")
    before = checkout.files()
    checkout.python("deploy/new_service/new_service.py", "billing")
    with_service = checkout.files()
    of_service = {name for name in changed(before, with_service) if not name.startswith("services/billing/")}
    assert of_service == files_of_walk("A service")

    for file, place, lines in MESSAGE:
        path = checkout.folder / file
        text = path.read_text()
        assert place in text
        path.write_text(text.replace(place, lines + place, 1) if place else text + lines)
    of_message = {
        name.replace("tests/test_billing.py", "tests") for name in changed(with_service, checkout.files())
    }
    assert of_message == files_of_walk("A message")
    checkout.python("-m", "ruff", "check", "--fix", "--quiet", "services/billing", _BRAND)
    checkout.python("-m", "ruff", "format", "--quiet", "services/billing", _BRAND)
    checkout.make_schemas()

    checkout.python("-m", "ruff", "check")
    checkout.python("-m", "ruff", "format", "--check")
    checkout.run(str(Path(sys.executable).with_name("lint-imports")))
    monkeypatch.setenv("KUBECTL", kubectl)
    checkout.python("-m", "manifests", "validate")
    checkout.python("-m", "mypy", "--strict", "services/billing/src")
    checkout.python(
        "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider",
        # Of what is asked of each service, what is asked of the new one.
        "-k", "not (orchestrator or research or publisher or social or monitor or gateway or console)",
        "services/billing/tests",
        "tests/architecture",
        "tests/compose/test_compose_files.py",
        "tests/contracts",
        "tests/observability/test_alerts.py",
    )  # fmt: skip


@pytest.mark.extended
@pytest.mark.parametrize("name", ["", "x", "Billing", "my-service", "social", "envelope"])
def test_a_name_that_does_not_do_is_refused(name: str) -> None:
    program = ROOT / "deploy" / "new_service" / "new_service.py"
    ended = subprocess.run([sys.executable, str(program), name], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "no service was made" in ended.stderr
