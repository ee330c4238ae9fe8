#!/usr/bin/env bash
# Writes the secrets of the settings into files, which compose.yaml mounts into the containers that need them: what stands in
# an environment or an argument is shown by `docker inspect`. Part of `make up`, safe to repeat.
#
#   ENV_FILE=.env               the settings; values in the environment win over those of the file
#   SECRETS_FOLDER=./.secrets   where the files are: a setting too. With another ENV_FILE: ENV_FILE.secrets
#
# The folder is its owner's alone, which keeps everybody else on this machine out. A file may be read by every user: it is
# mounted by itself, and containers have users of their own, whom this machine does not know.
#
# A service reads its secrets when it starts. So .env gets a line <SERVICE>_SECRETS, which is another after a change and by
# which Docker Compose sees that the container is to be replaced. The keys of GATEWAY_KEYS are read again by themselves.
set -euo pipefail
cd "$(dirname "$0")/../.."
umask 077

env_file=${ENV_FILE:-.env}
fail() { printf 'the secrets were not written: %s\n' "$*" >&2; exit 1; }

[ -e "$env_file" ] || fail "there is no $env_file. Make it with: make up"

# Each line NAME=… of the settings as a variable of_file_NAME; of several the last one holds, as with Docker Compose.
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    [A-Z]*=*)
        name=${line%%=*}
        case $name in *[!A-Z0-9_]*) continue ;; esac
        printf -v "of_file_$name" '%s' "${line#*=}"
        ;;
    esac
done <"$env_file"

# setting NAME: into `value`, as Docker Compose reads it, without quotes and comments; fails where it cannot tell.
setting() {
    local raw=of_file_$1
    if [ -n "${!1+set}" ]; then value=${!1}; return; fi
    value=${!raw-}
    case $value in
    "'"*"'"*) value=${value#"'"} value=${value%"'"*} ;;
    *'$'*) fail "$1 in $env_file has a \$, which Docker Compose takes for the name of a variable: write the value in single quotes" ;;
    '"'*'\'*) fail "$1 in $env_file has a backslash within double quotes: write the value in single quotes" ;;
    '"'*'"'*) value=${value#'"'} value=${value%'"'*} ;;
    *) value=${value%%[[:space:]]#*} value=${value%"${value##*[![:space:]]}"} ;;
    esac
}

# required NAME: the same of a setting without which nothing starts.
required() {
    setting "$1"
    [ -n "$value" ] || fail "$1 is empty in $env_file. Give it a random value with: make up"
}

# write NAME VALUE: into the file that containers have mounted, so that it stays the same file.
write() {
    local file=$folder/$1 before=''
    if [ -e "$file" ]; then
        IFS= read -r -d '' before <"$file" || true
        [ "$before" != "$2"$'\n' ] || return 0
    fi
    printf '%s\n' "$2" >"$file"
    chmod 644 "$file"
}

# keep NAME…: the settings of these names, each in a file of its name.
keep() {
    local name
    for name in "$@"; do required "$name"; write "$name" "$value"; done
}

# Those that may be missing; Docker mounts an empty file then.
keep_optional() {
    local name
    for name in "$@"; do setting "$name"; write "$name" "$value"; done
}

write_servers() {
    local sum
    keep SERVICE_KEY
    sum=$(printf %s "$value" | sha256sum)
    write SERVICE_KEY_HASH "sha256:${sum%% *}"
    keep POSTGRES_PASSWORD GRAFANA_PASSWORD GATEWAY_KEYS
    required RABBITMQ_PASSWORD
    write BROKER_ADMINISTRATOR "default_user = admin
default_pass = $value"
    write BROKER_ADMINISTRATOR_URL "amqp://admin:$value@rabbitmq:5672/"
    write BROKER_API_URL "http://admin:$value@rabbitmq:15672"
    keep_optional BRAVE_API_KEY GATEWAY_MODEL_API_KEY OIDC_CLIENT_SECRET MOVES_KEY SMTP_PASSWORD ALERT_WEBHOOK_URL
    keep_optional PUBLISHER_REPLICA_DATABASE_URL BROKER_USERS_API_URL OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS
}

# takes_messages VARIABLE: whether the service has a user at the broker.
takes_messages() { grep -q "^$1_BROKER_PASSWORD=" .env.example; }

# write_service NAME VARIABLE: how it reaches its database and the broker, and how its database is made.
write_service() {
    keep "$2_DATABASE_PASSWORD"
    write "$2_OWNER_URL" "postgresql://$1:$value@postgres:5432/$1"
    keep "$2_RUNTIME_PASSWORD"
    write "$2_DATABASE_URL" "postgresql://$1_runtime:$value@postgres:5432/$1"
    takes_messages "$2" || return 0
    keep "$2_BROKER_PASSWORD"
    write "$2_BROKER_URL" "amqp://$1:$value@rabbitmq:5672/"
}

# files_of VARIABLE: into `files`, what a container reads when it starts.
files_of() {
    local pair
    files='SERVICE_KEY'
    if [ "$1" = ALERTMANAGER ]; then files="$files ALERT_WEBHOOK_URL SMTP_PASSWORD"; return; fi
    for pair in $pairs; do
        case _${pair%_KEY}_ in *"_$1_"*) files="$files $pair" ;; esac
    done
    files="$files SERVICE_KEY_HASH $1_DATABASE_URL OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS"
    [ "$1" != GATEWAY ] || files="$files BRAVE_API_KEY GATEWAY_MODEL_API_KEY OIDC_CLIENT_SECRET MOVES_KEY"
    [ "$1" != PUBLISHER ] || files="$files PUBLISHER_REPLICA_DATABASE_URL"
    [ "$1" != MONITOR ] || files="$files BROKER_USERS_API_URL"
    if takes_messages "$1"; then files="$files $1_BROKER_URL"; fi
}

# A line for each container that is replaced when its secrets change. SERVICE_KEY is hashed along, so that a short secret
# cannot be found by trying.
versions() {
    local name sum
    for name in $services ALERTMANAGER; do
        files_of "$name"
        sum=$(cd "$folder" && cat $files | sha256sum)
        printf '%s_SECRETS=%s\n' "$name" "${sum:0:16}"
    done
}

# Takes the place of the lines that were there; nobody but the owner can read the file meanwhile.
write_versions() {
    local new
    new=$(mktemp "$env_file.XXXXXX")
    {
        grep -vE '^[A-Z]+_SECRETS=' "$env_file" || true
        versions
    } >"$new"
    if cmp -s "$new" "$env_file"; then rm -f "$new"; else mv "$new" "$env_file"; fi
}

setting SECRETS_FOLDER
folder=$value
if [ -z "$folder" ] && [ "$env_file" = .env ]; then
    folder=./.secrets
elif [ -z "$folder" ]; then
    folder=$(cd "$(dirname "$env_file")" && pwd)/$(basename "$env_file").secrets
    [ -z "$(tail -c 1 "$env_file")" ] || echo >>"$env_file"
    printf 'SECRETS_FOLDER=%s\n' "$folder" >>"$env_file"
fi
mkdir -p "$folder" || fail "SECRETS_FOLDER=$folder cannot be made"
chmod 700 "$folder" || fail "SECRETS_FOLDER=$folder belongs to somebody else"

services=$(sed -n 's/^\([A-Z_]*\)_RUNTIME_PASSWORD=$/\1/p' .env.example)
pairs=$(sed -n 's/^\([A-Z]*_TO_[A-Z]*_KEY\)=.*/\1/p' .env.example)
keep $pairs
write_servers
for each in $services; do write_service "$(printf %s "$each" | tr '[:upper:]' '[:lower:]')" "$each"; done
write_versions
