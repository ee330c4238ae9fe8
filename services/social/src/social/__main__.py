from messaging import command_line
from social.app import build
from social.settings import Settings

if __name__ == "__main__":
    command_line("social", Settings, build)
