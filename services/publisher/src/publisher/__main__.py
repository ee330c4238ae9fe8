from messaging import command_line
from publisher.app import build
from publisher.settings import Settings

if __name__ == "__main__":
    command_line("publisher", Settings, build)
