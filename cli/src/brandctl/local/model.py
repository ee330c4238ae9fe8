"""A small language model on this machine, for whoever has no other: a toy that the checks are tried on."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx

from brandctl.local import ports, processes

_PYTHON: Final = Path(".venv-model/bin/python")
_SERVER: Final = Path("deploy/local/model/serve.py")
_SETUP: Final = "deploy/local/setup-model.sh"
ACCOUNT: Final = "model"
"""Under which name the gateway knows it."""
NAME: Final = "smollm2-135m"
_CONTEXT_TOKENS: Final = 2048
"""Half of what `serve.py` has: an answer that is sent back for repair goes along with the question."""
_ANSWER_SECONDS: Final = 600.0
"""It has one thread, and on a busy machine a small share of one processor."""
READY_WITHIN_SECONDS: Final = 120.0
PATIENCE: Final = {
    "MODEL_NAME": ACCOUNT,
    "MODEL_CONTEXT_TOKENS": str(_CONTEXT_TOKENS),
    "MODEL_TIMEOUT_SECONDS": f"{_ANSWER_SECONDS + 60:.0f}",
    "WRITING_TIMEOUT_SECONDS": f"{2 * (_ANSWER_SECONDS + 60):.0f}",
}
"""What the orchestrator has to know of it."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """One that has been started."""

    child: processes.ChildProcess
    url: str
    """As its clients want it: before `/chat/completions`."""

    @property
    def account(self) -> dict[str, Any]:
        """What the gateway has to know of it. Its prices are made up, so that there is something to count."""
        return {
            "kind": "model",
            "settings": {
                "url": self.url,
                "model": NAME,
                "read_price": "0.15",
                "written_price": "0.60",
                "at_once": 1,
                "seconds": _ANSWER_SECONDS,
            },
        }

    def wait(self, within: float = READY_WITHIN_SECONDS) -> None:
        """Waits until it can be asked.

        Raises:
            StartError: it ended, or was not ready in time; the message carries the end of its log.
        """
        with httpx.Client(timeout=5, trust_env=False) as client:
            health = self.url.removesuffix("/v1") + "/health"
            self.child.wait_until(partial(_is_ready, client, health), within=within)

    def stop(self) -> None:
        self.child.stop()


def launch(checkout: Path, *, log: Path) -> LocalModel:
    """Starts it on a free port, without waiting for it.

    Args:
        checkout: the folder of the repository, where it is installed.
        log: replaced if it is there.

    Raises:
        StartError: it is not installed.
    """
    python, server = (checkout.resolve() / path for path in (_PYTHON, _SERVER))
    if not python.exists():
        raise processes.StartError(f"there is no {python}: {_SETUP} installs the model")
    port = ports.free_port()
    inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    child = processes.start("model", [python, server, str(port)], log=log, env=inherited)
    return LocalModel(child, f"http://{ports.LOOPBACK}:{port}/v1")


def _is_ready(client: httpx.Client, url: str) -> bool:
    try:
        return client.get(url).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
