#!/bin/sh
# Gets the operators' own definitions of custom resources, of the releases that manifests/definitions.toml names, into .local;
# from then on `make validate` checks against them, too, without a network. Does nothing when they are there.
#
#   deploy/kubernetes/definitions.sh              from where they are published
#   deploy/kubernetes/definitions.sh CHECKOUTS    from a folder with the operators' repositories, each at its tag
set -eu
home=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$home/../.." && pwd)
"$root/deploy/local/setup.sh" python
PYTHONPATH="$home" exec "$root/.venv/bin/python" -m manifests definitions "$@"
