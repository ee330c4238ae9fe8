from chassis.command_line import command_line
from console.app import build
from console.settings import Settings

if __name__ == "__main__":
    command_line("console", Settings, build)
