#!/bin/sh
# Usage: deploy/local/environment.sh NAME
# Installs the packages of deploy/local/NAME/requirements.lock, checked by their hashes, into .venv-NAME: apart from .venv, since
# no service needs them. Does nothing, quickly, when nothing has changed.
set -eu
cd "$(dirname "$0")/../.."

name=$1
folder=.venv-$name
lock=deploy/local/$name/requirements.lock

fingerprint() { cat "$lock" deploy/local/environment.sh | sha256sum; }

up_to_date() {
    [ "$(cat "$folder/setup.stamp" 2>/dev/null)" = "$(fingerprint)" ] && "$folder/bin/python" -c '' 2>/dev/null
}

up_to_date && exit 0
# One at a time: two may be started side by side.
exec 9>"$folder.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
up_to_date && exit 0

deploy/local/setup.sh python
echo "Installing what $name needs into $folder" >&2
.venv/bin/python -m venv --clear "$folder"
PIP_DISABLE_PIP_VERSION_CHECK=1 "$folder/bin/python" -m pip install --quiet --no-input \
    --only-binary :all: --no-deps --require-hashes --requirement "$lock"
fingerprint >"$folder/setup.stamp"
