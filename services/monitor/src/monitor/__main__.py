from messaging import command_line
from monitor.app import build
from monitor.settings import Settings

if __name__ == "__main__":
    command_line("monitor", Settings, build)
