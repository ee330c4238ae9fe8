#!/usr/bin/env python3
"""Makes a service: `make new-service NAME=billing`.

Its folder comes from `service/`, its entries in files that list all services from `blocks/` and, where the entry of every
service looks alike, from that of the monitor. Then `make schemas` renews what is generated from the catalogue.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
_NAME: Final = re.compile(r"[a-z]{3,20}")
_REGISTRY: Final = "shared/envelope/src/envelope/brand/services.py"
_TWIN: Final = "monitor"
_TWIN_PORT: Final = "8014"

_COPIED: Final = {
    "compose.yaml": (
        r"^ +(?:- )?MONITOR_(?:DATABASE|RUNTIME|BROKER)_PASSWORD(?:_FILE: .*)?\n",
        r"^  MONITOR_(?!TO_)\w+: \{file: .*\n",
        r"^  migrate-monitor:\n(?:.+\n)+\n",
        r"^      MONITOR_URL: http://monitor:8014\n(?=      EVENTS_URL: .*\n      RESEARCH_URL)",
    ),
    ".env.example": (r"^MONITOR_(?:DATABASE|RUNTIME|BROKER)_PASSWORD=\n", r"^# MONITOR_REPLICAS=2\n"),
    "pyproject.toml": (r'^    "brand-engine-monitor",\n', r"^brand-engine-monitor = .*\n"),
    "deploy/observability/prometheus/prometheus.yml": (r"^  - job_name: monitor\n.*\n",),
    "deploy/observability/prometheus/alerts.yml": (r'^ +or absent\(up\{job="monitor"\}\)\n',),
    "deploy/observability/prometheus/alerts.test.yml": (
        r'^ +- series: up\{job="monitor", instance="a"\}\n.*\n',
    ),
    "deploy/kubernetes/base/kustomization.yaml": (r"^  - services/monitor\.yaml\n",),
    "deploy/kubernetes/components/broker-dev/topology.yaml": (
        r"^ +- name: MONITOR_BROKER_PASSWORD\n.*\n.*\n",
    ),
    "deploy/kubernetes/components/database-dev/postgres.yaml": (
        r"^ +- name: MONITOR_(?:DATABASE|RUNTIME)_PASSWORD\n.*\n.*\n",
    ),
    "deploy/kubernetes/components/database-operator/cluster.yaml": (
        r"^ +- hostssl monitor .*\n",
        r"^ +- \{name: monitor.*\n",
    ),
    "deploy/kubernetes/components/database-operator/databases.yaml": (
        r"^apiVersion: .*\nkind: Database\nmetadata:\n  name: monitor\n(?:.+\n)*?---\n",
    ),
    **{
        f"deploy/kubernetes/overlays/{name}/release/kustomization.yaml": (
            r"^  - \{name: brand-engine/monitor,.*\n",
        )
        for name in ("dev", "prod")
    },
}
"""File → patterns of the monitor's entries, each of which is repeated below itself for the new service."""

_EXTENDED: Final = {
    "README.md": (("services/events/  what happened, for others", "services/events/  what happened, for others    services/NAME/  notes"),),
    "pyproject.toml": (('"events", "gateway"', '"events", "NAME", "gateway"'), ("| events |", "| events | NAME |"), ('"monitor", "events", "orch', '"monitor", "events", "NAME", "orch')),
    "deploy/observability/prometheus/alerts.yml": (("|events|", "|events|NAME|"),),
    "deploy/kubernetes/components/database-operator/cluster.yaml": (
        ("events,events_runtime,", "events,events_runtime,NAME,NAME_runtime,"),
    ),
}  # fmt: skip
"""File → parts of lines that list all services, and the same with the new one."""

_PAYLOADS: Final = "shared/envelope/src/envelope/brand/payloads.py"
_PAYLOAD: Final = '''

NewServiceNote = Annotated[str, StringConstraints(min_length=1, max_length=1000), WITHOUT_NUL]


class NewServiceRequested(Payload):
    """A note for new_service."""

    note_id: UUID
    note: NewServiceNote
'''
_CODES: Final = """
## NewService

| code | status | what it means |
|---|---|---|
| `unknown_new_service_note` | 404 | There is no such note. |
"""

_INSERTED: Final = (
    (
        _REGISTRY,
        '    ServiceEntry("gateway"',
        '    ServiceEntry("new_service", 8099),\n',
    ),
    (
        "shared/envelope/src/envelope/brand/catalogue.py",
        "    ),\n)\n",
        '        command("new_service.requested", payloads.NewServiceRequested, to="new_service", producers=("new_service",)),\n',
    ),
    (
        "shared/envelope/src/envelope/brand/examples.py",
        ")\n\n\ndef _messages(",
        '    (payloads.NewServiceRequested(note_id=_REPLAY, note="Remember the milk"), payloads.ContentPublished),\n',
    ),
    ("compose.observability.yaml", "  monitor:\n", "  new_service: *traced\n"),
    (
        "compose.yaml",
        "  # The one door to the outside",
        (HERE / "blocks" / "compose.yaml").read_text(),
    ),
)
"""File, the text before which something is inserted, and what."""


class RecipeError(Exception):
    """The service cannot be made; the message says why."""


def make_service(name: str) -> None:
    """Writes all files.

    Raises:
        RecipeError: the name does not do, or a file is not as the recipe knows it.
    """
    if not _NAME.fullmatch(name):
        raise RecipeError(f"NAME={name} must be 3 to 20 small letters, such as billing")
    folder = ROOT / "services" / name
    if folder.exists() or any(ROOT.glob(f"shared/{name}/src")):
        raise RecipeError(f"there is a {name} already")
    port = _next_port()
    _make_folder(folder, name, port)
    kubernetes = ROOT / "deploy/kubernetes/base/services" / f"{name}.yaml"
    kubernetes.write_text(_renamed((HERE / "blocks" / "kubernetes.yaml").read_text(), name, port))
    _make_entries(name, port)


def _make_folder(folder: Path, name: str, port: int) -> None:
    for source in sorted(HERE.glob("service/**/*.template")):
        place = str(source.relative_to(HERE / "service")).removesuffix(".template")
        target = folder / _renamed(place, name, port)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_renamed(source.read_text(), name, port))


def _make_entries(name: str, port: int) -> None:
    for file, patterns in _COPIED.items():
        _copy_entries(ROOT / file, patterns, name, port)
    for file, lists in _EXTENDED.items():
        for before, after in lists:
            _replace(ROOT / file, before, after.replace("NAME", name))
    for file, before, inserted in _INSERTED:
        if (ROOT / file).read_text().count(before) != 1:
            raise RecipeError(f"{file} must have {before!r} once")
        _replace(ROOT / file, before, _renamed(inserted, name, port) + before)
    for file, appended in ((_PAYLOADS, _PAYLOAD), ("docs/problem-codes.md", _CODES)):
        path = ROOT / file
        path.write_text(path.read_text() + _renamed(appended, name, port))


def _next_port() -> int:
    found = re.findall(r'ServiceEntry\(\s*"\w+",\s*(\d+)', (ROOT / _REGISTRY).read_text())
    return max(map(int, found)) + 1


def _renamed(text: str, name: str, port: int) -> str:
    """The text of a template, for this service."""
    text = text.replace("new_service", name).replace("new-service", name).replace("NEW_SERVICE", name.upper())
    return text.replace("NewService", name.title()).replace("8099", str(port))


def _copy_entries(path: Path, patterns: tuple[str, ...], name: str, port: int) -> None:
    text = path.read_text()
    for pattern in patterns:
        text, count = re.subn(
            pattern, lambda found: found[0] + _like_twin(found[0], name, port), text, flags=re.MULTILINE
        )
        if not count:
            raise RecipeError(f"{path.relative_to(ROOT)} has no entry of {_TWIN} like {pattern}")
    path.write_text(text)


def _like_twin(entry: str, name: str, port: int) -> str:
    entry = entry.replace(_TWIN, name).replace(_TWIN.upper(), name.upper())
    return entry.replace(_TWIN_PORT, str(port))


def _replace(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    if before not in text:
        raise RecipeError(f"{path.relative_to(ROOT)} has no {before!r}")
    path.write_text(text.replace(before, after))


def main() -> None:
    if len(sys.argv) != 2:  # noqa: PLR2004 - the program and the name
        sys.exit("say its name: make new-service NAME=billing")
    name = sys.argv[1]
    try:
        make_service(name)
    except RecipeError as error:
        sys.exit(f"no service was made: {error}")
    made = (f"services/{name}", "shared/envelope/src/envelope/brand")
    for what in (("check", "--fix"), ("format",)):
        # Of the name depend the order of imports and where lines break.
        subprocess.run(  # noqa: S603 - our own command lines, no shell
            [sys.executable, "-m", "ruff", *what, "--quiet", *made], cwd=ROOT, check=True
        )


if __name__ == "__main__":
    main()
