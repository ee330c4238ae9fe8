import sys

# structlog loads rich where it finds it, for colours that no log of a service has: 4 MB.
sys.modules.setdefault("rich", None)  # type: ignore[arg-type]

from chassis.command_line import command_line  # noqa: E402
from console.app import build  # noqa: E402
from console.settings import Settings  # noqa: E402

if __name__ == "__main__":
    command_line("console", Settings, build)
