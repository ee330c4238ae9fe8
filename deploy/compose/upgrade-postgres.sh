#!/usr/bin/env bash
# Moves the databases to another major version of PostgreSQL, which cannot read the files of the one before it.
#
#   deploy/compose/upgrade-postgres.sh postgres:18 FOLDER     FOLDER is made as by backup.sh, and keeps the backup
#
# The services stand still meanwhile; messages wait in the broker, which stays as it is. The databases are copied, and put
# into an empty volume by the new version; POSTGRES_IMAGE in .env then says which one that is. Should that fail, FOLDER is a
# whole backup, with which restore.sh brings everything back on the version before.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }
fail() { say "nothing was upgraded: $*"; exit 1; }

[ $# = 2 ] || fail 'say to what, and where the backup is to go: deploy/compose/upgrade-postgres.sh postgres:18 FOLDER'
image=$1
[ ! -e "$2" ] || fail "$2 must be a new folder"
folder=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
cd "$(dirname "$0")/../.."

services=$(sed -n 's/^\([A-Z_]*\)_RUNTIME_PASSWORD=$/\1/p' .env.example | tr '[:upper:]\n' '[:lower:] ')
env_file=${ENV_FILE:-.env}
project=${COMPOSE_PROJECT_NAME:-brand-engine}
compose() { COMPOSE_FILE=compose.yaml COMPOSE_IGNORE_ORPHANS=1 docker compose --project-name "$project" --env-file "$env_file" "$@"; }

[ -n "$(compose ps --quiet postgres)" ] || fail 'PostgreSQL does not run: make up, with the version that the data are of'
docker image inspect "$image" >/dev/null 2>&1 || docker pull "$image" >&2 || fail "there is no image $image"

# What a version before this one has not made yet.
deploy/compose/settings.sh || fail 'see above'

# Stopped before the backup and left so: what they would do after it would be lost with the old databases.
say 'Stopping the services'
compose stop $services
start_again() { compose start $services; }
trap start_again EXIT
deploy/compose/backup.sh "$folder"

trap 'say "the upgrade broke off. Everything as it was: set POSTGRES_IMAGE in $env_file back, make down VOLUMES=1, deploy/compose/restore.sh $folder"' EXIT
compose rm --stop --force postgres databases
docker volume rm "${project}_postgres" >/dev/null
if grep -q '^POSTGRES_IMAGE=' "$env_file"; then
    sed -i "s|^POSTGRES_IMAGE=.*|POSTGRES_IMAGE=$image|" "$env_file"
else
    printf 'POSTGRES_IMAGE=%s\n' "$image" >>"$env_file"
fi
export POSTGRES_IMAGE=$image
say "Making roles and databases with $image"
compose run --rm -T databases
for service in $services; do
    say "Restoring the database of $service"
    compose exec -T postgres pg_restore --username postgres --exit-on-error --single-transaction --dbname "$service" \
        <"$folder/$service.dump"
done
# What the planner knows of the tables is not in a dump.
compose exec -T postgres vacuumdb --username postgres --all --analyze-only --quiet
trap - EXIT
exec deploy/compose/up.sh
