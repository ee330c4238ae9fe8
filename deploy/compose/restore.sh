#!/usr/bin/env bash
# Brings up what backup.sh has copied, on an engine that has no data of this project yet: databases, broker, settings, and
# then everything as `make up` does.
#
#   deploy/compose/restore.sh FOLDER
#
# The settings are those of the backup where there are none; where there are, they stay, and only the password of the
# broker's administrator must be the one of the backup: it is part of the broker's data.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }
fail() { say "nothing was restored: $*"; exit 1; }

umask 077
[ $# = 1 ] || fail 'say from where: deploy/compose/restore.sh FOLDER'
[ -e "$1/SHA256SUMS" ] || fail "$1 is no finished backup"
folder=$(cd "$1" && pwd)
(cd "$folder" && sha256sum --quiet --check SHA256SUMS >&2) || fail "$folder is not as it was made"
cd "$(dirname "$0")/../.."

services='orchestrator research publisher social monitor gateway'
env_file=${ENV_FILE:-.env}
project=${COMPOSE_PROJECT_NAME:-brand-engine}
compose() { COMPOSE_FILE=compose.yaml docker compose --project-name "$project" --env-file "$env_file" "$@"; }
password() { sed -n 's/^RABBITMQ_PASSWORD=//p' "$1" | tail -n 1; }

for server in postgres rabbitmq; do
    if docker volume inspect "${project}_$server" >/dev/null 2>&1; then
        fail "there are data already, which this must not overwrite. Remove them first, for good, with: make down VOLUMES=1"
    fi
done
[ -e "$env_file" ] || cp "$folder/settings.env" "$env_file"
[ "$(password "$env_file")" = "$(password "$folder/settings.env")" ] \
    || fail "RABBITMQ_PASSWORD in $env_file is not the one of the backup, which is in $folder/settings.env"

trap 'say "the restore broke off; before the next try remove what there is, with: make down VOLUMES=1"' EXIT
say 'Making roles and databases'
compose run --rm -T databases
for service in $services; do
    say "Restoring the database of $service"
    compose exec -T postgres pg_restore --username postgres --exit-on-error --single-transaction --dbname "$service" \
        <"$folder/$service.dump"
done
say 'Restoring the broker'
compose run --rm --no-deps -T --entrypoint tar rabbitmq \
    --extract --gzip --numeric-owner --directory /var/lib/rabbitmq <"$folder/rabbitmq.tar.gz"
trap - EXIT
exec deploy/compose/up.sh
