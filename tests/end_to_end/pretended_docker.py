"""A `docker` for the scripts of deploy/compose, whose containers are processes of this machine.

What a script would run in a container, pg_dump, pg_restore, tar or databases.sh, runs here for real, on the servers that
`machine.json` beside this file describes. Stopping a container ends its process in order; starting one is left to the test.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
MACHINE = json.loads((HERE / "machine.json").read_text())


def say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def running(service: str) -> bool:
    """A process that has ended stays a zombie until its parent, the test, looks at it.

    The test starts no gateway, which takes no part in what it counts.
    """
    if service not in MACHINE["pids"]:
        return False
    try:
        stat = Path(f"/proc/{MACHINE['pids'][service]}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def stop(services: list[str]) -> None:
    for service in filter(running, services):
        os.kill(MACHINE["pids"][service], signal.SIGTERM)
    while any(map(running, services)):
        time.sleep(0.05)


def execute(program: str, *arguments: str) -> None:
    environment = {**os.environ, **MACHINE["postgres"]}
    sys.stdout.flush()
    os.execvpe(program, [program, *arguments], environment)


def compose(*command: str) -> None:
    match command:
        case ("ps", "--quiet", *services):
            say(*filter(running, services))
        case ("stop", *services):
            stop(services)
        case ("exec", "-T", "postgres", program, *arguments):
            execute(program, *arguments)
        case ("run", "--rm", "-T", "databases"):
            execute("sh", "deploy/compose/databases.sh")
        case ("run", "--rm", "--no-deps", "-T", "--entrypoint", "tar", "rabbitmq", *arguments):
            folders = {"/var/lib/rabbitmq": MACHINE["rabbitmq_data"]}
            execute("tar", *(folders.get(argument, argument) for argument in arguments))
        case ("run", "--rm", "--no-deps", "-T", "--entrypoint", "sh", "publisher", "-c", _):
            # No brand has files here.
            execute("tar", "--create", "--gzip", "--files-from", "/dev/null")
        case ("build",) | ("config", *_) | ("up", *_):
            pass
        case _:
            sys.exit(f"this docker cannot: compose {' '.join(command)}")


def docker(*command: str) -> None:
    match command:
        case ("compose", "--project-name", _, "--env-file", _, *rest):
            compose(*rest)
        case ("version", *_):
            say("27.0")
        case ("compose", "version", *_):
            say("2.40.3")
        case ("volume", "inspect", _):
            sys.exit(1)
        case ("ps", *_) | ("start", *_):
            pass
        case _:
            sys.exit(f"this docker cannot: {' '.join(command)}")


docker(*sys.argv[1:])
