from events.app import build
from events.settings import Settings
from messaging import command_line

if __name__ == "__main__":
    command_line("events", Settings, build)
