import sys

# Packages load these where they find them, and go on without them; no page needs one: 8 MB. structlog and httpx take the first
# three for colours and a command, FastAPI the last to refuse models of a kind that we have not.
for name in ("greenlet", "pygments", "rich", "pydantic.v1"):
    sys.modules.setdefault(name, None)  # type: ignore[arg-type]

from chassis.command_line import command_line  # noqa: E402
from console.app import build  # noqa: E402
from console.settings import Settings  # noqa: E402

if __name__ == "__main__":
    command_line("console", Settings, build)
