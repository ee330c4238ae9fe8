"""A small language model on this machine: a toy to try the checks on without an account."""

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
"""The gateway's name of the model."""
NAME: Final = "smollm2-135m"
_CONTEXT_TOKENS: Final = 2048
"""Half of the context of `serve.py`: a repair request holds both question and answer."""
_ANSWER_SECONDS: Final = 600.0
"""Long, because the model has one thread, which gets little of a busy processor."""
READY_WITHIN_SECONDS: Final = 120.0
PATIENCE: Final = {
    "MODEL_NAME": ACCOUNT,
    "MODEL_CONTEXT_TOKENS": str(_CONTEXT_TOKENS),
    "MODEL_TIMEOUT_SECONDS": f"{_ANSWER_SECONDS + 60:.0f}",
    "WRITING_TIMEOUT_SECONDS": f"{2 * (_ANSWER_SECONDS + 60):.0f}",
}
"""Settings of the orchestrator for such a slow model."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A started model."""

    child: processes.ChildProcess
    url: str
    """The address for clients: the part before `/chat/completions`."""

    @property
    def account(self) -> dict[str, Any]:
        """The gateway's settings of the model. The prices are made up, so that the ledger has amounts."""
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
        """Waits until the model answers.

        Raises:
            StartError: the model ended, or was not ready in time; the message carries the end of its log.
        """
        with httpx.Client(timeout=5, trust_env=False) as client:
            health = self.url.removesuffix("/v1") + "/health"
            self.child.wait_until(partial(_is_ready, client, health), within=within)

    def stop(self) -> None:
        self.child.stop()


def launch(checkout: Path, *, log: Path) -> LocalModel:
    """Starts the model on a free port, without waiting for it.

    Args:
        checkout: the folder of the repository, with the installed model.
        log: replaced if it is there.

    Raises:
        StartError: the model is not installed.
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
