from messaging import command_line
from orchestrator.app import build
from orchestrator.settings import Settings
from orchestrator.subjects import backfill_keys

if __name__ == "__main__":
    command_line("orchestrator", Settings, build, backfill=backfill_keys)
