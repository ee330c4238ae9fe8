from messaging import command_line
from orders.app import Settings, build

if __name__ == "__main__":
    command_line("orders", Settings, build)
