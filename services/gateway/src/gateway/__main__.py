from chassis.command_line import command_line
from gateway.app import build
from gateway.settings import Settings

if __name__ == "__main__":
    command_line("gateway", Settings, build)
