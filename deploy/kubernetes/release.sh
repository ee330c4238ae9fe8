#!/bin/sh
# Writes which release an overlay runs: the images of the services, and the names of the Jobs, which cannot be changed
# once they are there. Commit what it writes, then apply.sh.
#
#   deploy/kubernetes/release.sh prod 0.2.0             by tag
#   deploy/kubernetes/release.sh prod 0.2.0 --digests   and by digest, as the registry tells it now: nobody can change it then
#
# IMAGES is where the images are, without the service: registry.example.com/brand-engine; else as the overlay has it.
# Digests are read with `docker buildx imagetools`; sign in to the registry before.
set -eu
home=$(cd "$(dirname "$0")" && pwd)
overlay=${1:?"say which overlay and which version: release.sh prod 0.2.0"}
version=${2:?"say which version: release.sh $overlay 0.2.0"}
case $overlay in */*) ;; *) overlay=$home/overlays/$overlay ;; esac
file=$overlay/release/kustomization.yaml
case $version in '' | *[!A-Za-z0-9._-]*) echo "release.sh: '$version' is no tag of an image" >&2; exit 2 ;; esac

images=${IMAGES:-$(sed -n 's|.*{name: brand-engine/social, newName: \([^,]*\)/social,.*|\1|p' "$file" 2>/dev/null)}
images=${images:-brand-engine}
# By that the checks of `make validate` know them.
case /$images in */brand-engine) ;; *) echo "release.sh: IMAGES must end in /brand-engine, and is $images" >&2; exit 2 ;; esac

new=$(mktemp)
trap 'rm -f "$new"' EXIT
{
    echo '# Written by deploy/kubernetes/release.sh. Jobs cannot be changed, so each release has its own.'
    echo 'apiVersion: kustomize.config.k8s.io/v1alpha1'
    echo 'kind: Component'
    echo 'images:'
    for service in $(sed -n 's|^  - services/\(.*\)\.yaml$|\1|p' "$home/base/kustomization.yaml"); do
        digest=
        if [ "${3:-}" = --digests ]; then
            digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$images/$service:$version")
            case $digest in
            sha256:????????????????????????????????????????????????????????????????) ;;
            *) echo "release.sh: the registry told no digest of $images/$service:$version, but '$digest'" >&2; exit 1 ;;
            esac
        fi
        echo "  - {name: brand-engine/$service, newName: $images/$service, newTag: $version${digest:+, digest: \"$digest\"}}"
    done
    cat <<JOBS
transformers:
  - |-
    apiVersion: builtin
    kind: SuffixTransformer
    metadata: {name: release}
    suffix: -$(printf '%s' "$version" | tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' - | sed 's/-$//')
    fieldSpecs:
      - {kind: Job, path: metadata/name}
JOBS
} >"$new"
cat "$new" >"$file"
echo "$file"
