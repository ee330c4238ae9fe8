#!/bin/sh
# Installs what benchmarks/peers/*.py run on into .venv-peers: the packages of benchmarks/peers/requirements.lock, checked
# by their hashes. Apart from .venv, since what is compared against must not decide what the product itself may install.
# Does nothing, quickly, when nothing has changed.
#
# PYTHON names the interpreter to make .venv-peers with; Python 3.11 or later.
set -eu
cd "$(dirname "$0")/.."

lock=benchmarks/peers/requirements.lock

say() { printf '%s\n' "$*" >&2; }

# A Python that can make a virtual environment: Debian ships that ability in a package of its own.
find_python() {
    for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13 python3.14}; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

fingerprint() { cat "$lock" benchmarks/setup-peers.sh | sha256sum; }

up_to_date() {
    [ "$(cat .venv-peers/setup.stamp 2>/dev/null)" = "$(fingerprint)" ] && .venv-peers/bin/python -c '' 2>/dev/null
}

up_to_date && exit 0
# One at a time: two may be started side by side.
exec 9>.venv-peers.lock
if command -v flock >/dev/null 2>&1; then flock 9; fi
up_to_date && exit 0

python=$(find_python) || { say "No Python 3.11 or later with venv was found; on Debian: python3-venv"; exit 1; }
say "Creating .venv-peers with $python"
"$python" -m venv --clear .venv-peers
say "Installing the libraries that the benchmarks compare with"
PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-peers/bin/python -m pip install --quiet --no-input \
    --require-hashes --requirement "$lock"
fingerprint >.venv-peers/setup.stamp
