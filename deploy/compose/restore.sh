#!/usr/bin/env bash
# Brings up what backup.sh has copied, on an engine that has no data of this project yet: databases, broker, published files,
# settings, and then everything as `make up` does.
#
#   deploy/compose/restore.sh FOLDER
#   GATEWAY_KEYS=… deploy/compose/restore.sh FOLDER        where there are no settings: the keys are not in the backup
#   deploy/compose/restore.sh --new-gateway-keys FOLDER    they are lost: connected accounts have to be connected anew
#
# The settings are those of the backup where there are none; where there are, they stay, and the password of the broker's
# administrator, which is part of the broker's data, and GATEWAY_KEYS must be those of the backup.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }
fail() { say "nothing was restored: $*"; exit 1; }

umask 077
new_keys=''
if [ "${1:-}" = --new-gateway-keys ]; then
    new_keys=yes
    shift
fi
[ $# = 1 ] || fail 'say from where: deploy/compose/restore.sh FOLDER'
[ -e "$1/SHA256SUMS" ] || fail "$1 is no finished backup"
folder=$(cd "$1" && pwd)
(cd "$folder" && sha256sum --quiet --check SHA256SUMS >&2) || fail "$folder is not as it was made"
cd "$(dirname "$0")/../.."

services=$(sed -n 's/^\([A-Z_]*\)_RUNTIME_PASSWORD=$/\1/p' .env.example | tr '[:upper:]\n' '[:lower:] ')
env_file=${ENV_FILE:-.env}
project=${COMPOSE_PROJECT_NAME:-brand-engine}
compose() { COMPOSE_FILE=compose.yaml docker compose --project-name "$project" --env-file "$env_file" "$@"; }
# value NAME FILE
value() { sed -n "s/^$1=//p" "$2" | tail -n 1; }

# Whether the key that the backup was encrypted with is among these, which have commas between them. Older backups have no
# hashes, and hold the keys.
opened_by() {
    local key first keys=${1//[\'\"]/}
    [ -e "$folder/gateway-keys.hashes" ] || return 0
    first=$(head -n 1 "$folder/gateway-keys.hashes")
    for key in ${keys//,/ }; do
        [ "$(printf %s "$key" | sha256sum | cut -d ' ' -f 1)" != "$first" ] || return 0
    done
    return 1
}

for server in postgres rabbitmq; do
    if docker volume inspect "${project}_$server" >/dev/null 2>&1; then
        fail "there are data already, which this must not overwrite. Remove them first, for good, with: make down VOLUMES=1"
    fi
done
settings=$env_file
[ -e "$settings" ] || settings=$folder/settings.env
[ "$(value RABBITMQ_PASSWORD "$settings")" = "$(value RABBITMQ_PASSWORD "$folder/settings.env")" ] \
    || fail "RABBITMQ_PASSWORD in $env_file is not the one of the backup, which is in $folder/settings.env"
keys=${GATEWAY_KEYS:-$(value GATEWAY_KEYS "$settings")}
if [ -z "$new_keys" ]; then
    [ -n "$keys" ] || fail "the backup does not hold GATEWAY_KEYS, which open the keys of providers. Give those that you keep: GATEWAY_KEYS=… $0 $folder; or, if they are lost: $0 --new-gateway-keys $folder"
    opened_by "$keys" || fail "GATEWAY_KEYS are not those of the backup, so connected accounts would be lost. Give the right ones: GATEWAY_KEYS=… $0 $folder; or, if they are lost: $0 --new-gateway-keys $folder"
fi
[ "$settings" = "$env_file" ] || cp "$settings" "$env_file"
if [ -n "$keys" ] && [ -z "$(value GATEWAY_KEYS "$env_file")" ]; then
    sed -i '/^GATEWAY_KEYS=/d' "$env_file"
    printf 'GATEWAY_KEYS=%s\n' "$keys" >>"$env_file"
fi
published=${PUBLISH_FOLDER:-$(value PUBLISH_FOLDER "$env_file")}
[ -z "$published" ] || [ -d "$published" ] \
    || fail "PUBLISH_FOLDER=$published is no folder. Make it, writable for the user 10001: mkdir -p $published && sudo chown 10001:10001 $published"
# A backup of an older version lacks what this one needs.
deploy/compose/settings.sh || fail 'see above'

trap 'say "the restore broke off; before the next try remove what there is, with: make down VOLUMES=1"' EXIT
say 'Making roles and databases'
compose run --rm -T databases
for service in $services; do
    # A service that is newer than the backup begins with an empty database.
    [ -e "$folder/$service.dump" ] || continue
    say "Restoring the database of $service"
    compose exec -T postgres pg_restore --username postgres --exit-on-error --single-transaction --dbname "$service" \
        <"$folder/$service.dump"
done
say 'Restoring the broker'
compose run --rm --no-deps -T --entrypoint tar rabbitmq \
    --extract --gzip --numeric-owner --directory /var/lib/rabbitmq <"$folder/rabbitmq.tar.gz"
if [ -z "$published" ] || [ ! -e "$folder/published.tar.gz" ]; then
    :
elif [ -n "$(ls -A "$published")" ]; then
    say "$published is not empty, so it stays as it is; the files of the backup are in $folder/published.tar.gz"
else
    say 'Restoring the published files'
    compose run --rm --no-deps -T --entrypoint tar publisher \
        --extract --gzip --directory /published <"$folder/published.tar.gz"
fi
trap - EXIT
exec deploy/compose/up.sh
