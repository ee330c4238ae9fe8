#!/usr/bin/env bash
# Stops and removes what up.sh started: `make down`. The data stay, unless VOLUMES=1.
set -euo pipefail

project=${COMPOSE_PROJECT_NAME:-brand-engine}
command -v docker >/dev/null 2>&1 || { echo 'Docker is not installed: nothing to stop.' >&2; exit 1; }

# From a folder without compose files: it then goes by what runs, whatever the files and .env say by now.
cd /
unset COMPOSE_FILE
exec docker compose --project-name "$project" down --remove-orphans ${VOLUMES:+--volumes}
