#!/usr/bin/env bash
# Makes the settings of the containers from .env.example at the first start, completes them when a newer version knows more of
# them, and gives every empty secret a random value; then writes the secrets for the containers (secrets.sh). Part of `make up`,
# safe to repeat.
#
#   ENV_FILE=.env     where the settings are
set -euo pipefail
cd "$(dirname "$0")/../.."

env_file=${ENV_FILE:-.env}
project=${COMPOSE_PROJECT_NAME:-brand-engine}

say() { printf '%s\n' "$*" >&2; }
fail() { say "there are no settings: $*"; exit 1; }

secret() { od -An -N 24 -t x1 /dev/urandom | tr -d ' \n'; }

# Lines `NAME=` of standard input with a random value; all others as they are.
fill_secrets() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        SERVICE_KEY_HASH=*) ;; # an older version's; secrets.sh makes it of the key
        GATEWAY_KEYS=) printf '%s%s\n' "$line" "$(head -c 32 /dev/urandom | base64 | tr '+/' '-_')" ;;
        [A-Z]*=?*=) printf '%s\n' "$line" ;; # a value that ends in one
        [A-Z]*=) printf '%s%s\n' "$line" "$(secret)" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done
}

# The settings: made at the first start, completed when a newer version knows more of them.
make_settings() {
    local name new
    new=$(mktemp "$env_file.XXXXXX") # which nobody else can read
    if [ ! -e "$env_file" ]; then
        if docker volume inspect "${project}_postgres" >/dev/null 2>&1; then
            rm -f "$new"
            fail "there are data of an earlier run, but no $env_file with their passwords: restore it, or remove the data with: make down VOLUMES=1"
        fi
        fill_secrets <.env.example >"$new"
        say "Made $env_file with new secrets"
    else
        {
            cat "$env_file"
            [ -z "$(tail -c 1 "$env_file")" ] || echo
            sed -n 's/^\([A-Z_]*\)=.*/\1/p' .env.example | while read -r name; do
                grep -q "^$name=" "$env_file" || grep "^$name=" .env.example
            done
        } | fill_secrets >"$new"
    fi
    if cmp -s "$new" "$env_file"; then rm -f "$new"; else mv "$new" "$env_file"; fi
}

make_settings
exec deploy/compose/secrets.sh
