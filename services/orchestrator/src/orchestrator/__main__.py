from messaging import command_line
from orchestrator.app import build
from orchestrator.settings import Settings

if __name__ == "__main__":
    command_line("orchestrator", Settings, build)
