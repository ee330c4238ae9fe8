#!/usr/bin/env bash
# Writes down what the images from elsewhere stand for today: asks the registry for each tag of images.yaml, and puts the
# digest that it answers behind the tag, there and in the Dockerfile. From then on everybody gets the same, until this is run
# again.
#
#   deploy/compose/pin.sh            pins what is not pinned, and renews what is
#   deploy/compose/pin.sh --remove   takes the digests away: whatever a tag stands for is taken again
#
# To go to another version, change the tag in images.yaml (python's in the Dockerfile as well), then run this.
set -euo pipefail
cd "$(dirname "$0")/../.."

images=deploy/compose/images.yaml
dockerfile=deploy/images/Dockerfile

say() { printf '%s\n' "$*" >&2; }
fail() { say "nothing was pinned: $*"; exit 1; }

case ${1:-} in '' | --remove) ;; *) fail "unknown argument $1; see the top of $0" ;; esac

# The defaults of images.yaml without their digests, one a line.
tags() { sed -n 's/^.*image: "\${[A-Z]*_IMAGE:-\([^}@]*\).*$/\1/p' "$images"; }

# digest TAG: of the image for all processors, as the registry has it.
digest() {
    local name found
    name=${1%:*}
    docker pull --quiet "$1" >/dev/null || fail "$1 cannot be had"
    found=$(docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$1" | sed -n "s|^\(docker.io/\)\{0,1\}$name@||p" | head -n 1)
    [ -n "$found" ] || fail "the registry gives no digest for $1"
    printf '@%s\n' "$found"
}

# All digests first: with one missing, nothing is written.
pinned=$(
    for tag in $(tags); do
        found=''
        [ "${1:-}" = --remove ] || found=$(digest "$tag") || exit 1
        printf '%s %s\n' "$tag" "$found"
    done
)
printf '%s\n' "$pinned" | while read -r tag found; do
    sed -i "s|\(_IMAGE:-$tag\)\(@sha256:[0-9a-f]*\)\{0,1\}}|\1$found}|" "$images"
    sed -i "s|^\(ARG PYTHON_IMAGE=$tag\)\(@sha256:[0-9a-f]*\)\{0,1\}$|\1$found|" "$dockerfile"
    say "$tag$found"
done
