"""A fake as a process of its own, and how to watch it from outside."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from fakes.serving.faults import Kind

# What environment variables say of proxies concerns others.
_DIRECT = build_opener(ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class FakeProcess:
    """A client of a fake that runs as a process at `url`."""

    url: str

    def accepted(self) -> Sequence[Mapping[str, Any]]:
        """The fields of `Accepted`, each."""
        items: Sequence[Mapping[str, Any]] = self._ask("GET", "/_accepted")["items"]
        return items

    def requests(self) -> Sequence[str]:
        """`POST /2/tweets`, each, in the order in which they came."""
        items: Sequence[str] = self._ask("GET", "/_requests")["items"]
        return items

    def faults(self) -> Sequence[Mapping[str, Any]]:
        items: Sequence[Mapping[str, Any]] = self._ask("GET", "/_faults")["items"]
        return items

    def inject(self, kind: Kind, match: str = "*", **how: Any) -> None:
        """As `Faults.inject`. Raises urllib.error.HTTPError if there is no such fault."""
        self._ask("POST", "/_faults", {"kind": kind, "match": match, **how})

    def clear_faults(self) -> None:
        self._ask("DELETE", "/_faults")

    def _ask(self, method: str, path: str, data: Any = None) -> Any:
        body = None if data is None else json.dumps(data).encode()
        try:
            with _DIRECT.open(Request(self.url + path, body, method=method), timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except HTTPError as refusal:
            refusal.close()  # it is an open answer
            raise


@contextmanager
def started(name: str, port: int = 0, **given: Any) -> Iterator[FakeProcess]:
    """`python -m fakes NAME` while it lasts; `given` are arguments of the fake."""
    with subprocess.Popen(
        [sys.executable, "-m", "fakes", name, "--port", str(port), "--given", json.dumps(given)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError(f"the fake {name} did not start; its errors are above")
            yield FakeProcess(url)
        finally:
            process.terminate()
