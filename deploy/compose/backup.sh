#!/usr/bin/env bash
# A backup of what `make up` keeps: the databases, the broker with its messages and users, the articles that were put as
# files (PUBLISH_FOLDER), and the settings.
#
#   deploy/compose/backup.sh FOLDER     FOLDER is made, and nobody else may read it: the settings hold passwords
#
# When the last one began is kept for the alert on its age, in BACKUP_RECORD_FOLDER (BACKUP_MAX_AGE_HOURS says how old it may become).
#
# GATEWAY_KEYS are not in it: they open the keys of providers that are in the database of the gateway. Keep them elsewhere.
#
# The services stand still until all of it is copied, so that a message is in an outbox, in a queue or in an inbox, and
# none is on its way from one to the next. Afterwards everything that ran runs again. docs/operations says what a
# restore gives back.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }
fail() { say "there is no backup: $*"; exit 1; }

umask 077
[ $# = 1 ] || fail 'say where it is to go: deploy/compose/backup.sh FOLDER'
mkdir "$1" || fail "$1 must be a new folder"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

services=$(sed -n 's/^\([A-Z_]*\)_RUNTIME_PASSWORD=$/\1/p' .env.example | tr '[:upper:]\n' '[:lower:] ')
env_file=${ENV_FILE:-.env}
project=${COMPOSE_PROJECT_NAME:-brand-engine}
export COMPOSE_FILE=compose.yaml COMPOSE_IGNORE_ORPHANS=1
# setting NAME DEFAULT: as Docker Compose will see it.
setting() {
    local value
    if [ -n "${!1+set}" ]; then value=${!1}; else value=$(sed -n "s/^$1=//p" "$env_file" | tail -n 1); fi
    printf '%s\n' "${value:-$2}"
}
compose() { docker compose --project-name "$project" --env-file "$env_file" "$@"; }

[ -n "$(compose ps --quiet postgres)" ] || fail 'PostgreSQL does not run: make up'
# What a version before this one has not made yet.
deploy/compose/secrets.sh || fail 'see above'
record=$(setting BACKUP_RECORD_FOLDER "./.backup-record/$project")
mkdir -p "$record" && [ -w "$record" ] \
    || fail "BACKUP_RECORD_FOLDER=$record cannot be written to, so nobody would know of the backup. Make it yours: sudo chown $(id -un) $record"
began=$(date +%s)
# By container, so that every copy of a scaled service is started again.
running=$(compose ps --quiet rabbitmq $services)

start_again() { [ -z "$running" ] || docker start $running >/dev/null; }
trap start_again EXIT

say 'Stopping the services'
compose stop $services
for service in $services; do
    say "Copying the database of $service"
    compose exec -T postgres pg_dump --username postgres --format custom --dbname "$service" >"$folder/$service.dump"
done
# A node may only be copied while it stands still.
compose stop rabbitmq
say 'Copying the broker'
compose run --rm --no-deps -T --entrypoint tar rabbitmq \
    --create --gzip --numeric-owner --directory /var/lib/rabbitmq . >"$folder/rabbitmq.tar.gz"
say 'Copying the published files'
# What is in the folder, and not the folder itself: its owner and mode are the machine's.
compose run --rm --no-deps -T --entrypoint sh publisher -c \
    'cd /published && find . -mindepth 1 -maxdepth 1 -print0 | tar --create --gzip --numeric-owner --null --files-from -' \
    >"$folder/published.tar.gz"
# Where secrets are written belongs to the machine.
sed '/^GATEWAY_KEYS=/d; /^SECRETS_FOLDER=/d' "$env_file" >"$folder/settings.env"
# By which a restore knows the right keys; of 32 random bytes, a hash tells nothing.
keys=${GATEWAY_KEYS:-$(sed -n 's/^GATEWAY_KEYS=//p' "$env_file" | tail -n 1)}
keys=${keys//[\'\"]/}
for key in ${keys//,/ }; do printf %s "$key" | sha256sum | cut -d ' ' -f 1; done >"$folder/gateway-keys.hashes"
# Last: without it, the folder is no backup.
(
    cd "$folder"
    sha256sum -- *.dump rabbitmq.tar.gz published.tar.gz settings.env gateway-keys.hashes >.SHA256SUMS
    mv .SHA256SUMS SHA256SUMS
)

# Holds no secret, and the monitor, another user, reads it.
chmod 755 "$record"
printf '%s\n' "$began" >"$record/.last"
chmod 644 "$record/.last"
mv "$record/.last" "$record/last"

trap - EXIT
start_again
say "The backup is in $folder, $(du -sh "$folder" | cut -f 1)"
say "GATEWAY_KEYS of $env_file are not in it, and a restore takes them: keep them in another place"
