from messaging import ServiceSettings, command_line
from payments.app import build

if __name__ == "__main__":
    command_line("payments", ServiceSettings, build)
