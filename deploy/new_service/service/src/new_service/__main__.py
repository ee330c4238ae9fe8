from messaging import command_line
from new_service.app import build
from new_service.settings import Settings

if __name__ == "__main__":
    command_line("new_service", Settings, build)
