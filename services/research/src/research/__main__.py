from messaging import command_line
from research.app import build
from research.settings import Settings

if __name__ == "__main__":
    command_line("research", Settings, build)
