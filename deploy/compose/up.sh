#!/usr/bin/env bash
# Builds the images, brings everything up in containers, waits until all of it works and prints where it is: `make up`.
#
#   MINIMAL=1         without traces, metrics and dashboards
#   UP_TIMEOUT=180    seconds for everything to become healthy, once the images are built
#   ENV_FILE=.env     settings; made from .env.example, with random secrets, where it is missing
#
# Settings in the environment win over those of the file. Safe to repeat.
set -euo pipefail
cd "$(dirname "$0")/../.."

env_file=${ENV_FILE:-.env}
least_compose=2.20
project=${COMPOSE_PROJECT_NAME:-brand-engine}
export COMPOSE_PATH_SEPARATOR=:

say() { printf '%s\n' "$*" >&2; }
fail() { say "make up cannot go on: $*"; exit 1; }
compose() { docker compose --project-name "$project" --env-file "$env_file" "$@"; }

# setting NAME DEFAULT: as Docker Compose will see it.
setting() {
    local value
    if [ -n "${!1+set}" ]; then value=${!1}; else value=$(sed -n "s/^$1=//p" "$env_file" | tail -n 1); fi
    printf '%s\n' "${value:-$2}"
}

check_docker() {
    local answer version
    command -v docker >/dev/null 2>&1 || fail 'Docker is not installed, see https://docs.docker.com/engine/install/'
    answer=$(docker version --format '{{.Server.Version}}' 2>&1) \
        || fail "the Docker engine does not answer. Does it run, and may you use it (group docker)? It says: ${answer##*$'\n'}"
    version=$(docker compose version --short 2>/dev/null) \
        || fail "Docker has no compose command; the plugin must be $least_compose or newer, see https://docs.docker.com/compose/install/"
    version=${version#v}
    if [ "$(printf '%s\n' "$least_compose" "$version" | sort -t . -k 1,1n -k 2,2n | head -n 1)" != "$least_compose" ]; then
        fail "Docker Compose $version is too old; it must be $least_compose or newer, see https://docs.docker.com/compose/install/"
    fi
}

secret() { od -An -N 24 -t x1 /dev/urandom | tr -d ' \n'; }

# Lines `NAME=` of standard input with a random value; all others as they are.
fill_secrets() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
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

choose_files() {
    COMPOSE_FILE=$(setting COMPOSE_FILE compose.yaml:compose.observability.yaml)
    [ -z "${MINIMAL:-}" ] || COMPOSE_FILE=compose.yaml
    export COMPOSE_FILE
}

observed() { case $COMPOSE_FILE in *observability*) return 0 ;; *) return 1 ;; esac; }

check_corpus() {
    local corpus
    corpus=$(setting CORPUS ./deploy/demo/corpus)
    [ -d "$corpus" ] || fail "CORPUS=$corpus is no folder; give one with .md, .txt or .html documents"
}

answers() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# Before anything is started: Docker itself would notice half-way, and not say which setting helps.
check_ports() {
    local bind pair name port ours pairs
    bind=$(setting BIND 127.0.0.1)
    [ "$bind" != 0.0.0.0 ] || bind=127.0.0.1
    ours=$(docker ps --filter "label=com.docker.compose.project=$project" --format '{{.Ports}}')
    pairs='ORCHESTRATOR_PORT=8010 PUBLISHER_PORT=8012 SOCIAL_PORT=8013 MONITOR_PORT=8014 RABBITMQ_UI_PORT=15672'
    if observed; then pairs="$pairs JAEGER_PORT=16686 PROMETHEUS_PORT=9090 GRAFANA_PORT=3000"; fi
    for pair in $pairs; do
        name=${pair%=*}
        port=$(setting "$name" "${pair#*=}")
        case $ours in *":$port->"*) continue ;; esac
        if answers "$bind" "$port"; then
            fail "port $port of $bind is in use by another program. Choose another, here or in $env_file: $name=$((port % 50000 + 10000)) make up"
        fi
    done
}

# Whether a container is where it should end up: healthy, running where nothing checks its health, or ended well.
well() {
    case $1 in
    *'(healthy)'* | 'Exited (0)'*) return 0 ;;
    *'(unhealthy)'* | *'health: starting'*) return 1 ;;
    Up*) return 0 ;;
    *) return 1 ;;
    esac
}

# Of our project, one line each: container, service and status, such as `4f2a… research Up 5 seconds (healthy)`.
statuses() {
    docker ps --all --filter "label=com.docker.compose.project=$project" \
        --format '{{.ID}} {{.Label "com.docker.compose.service"}} {{.Status}}'
}

pending() {
    local service status
    statuses | while read -r _ service status; do well "$status" || printf '%s ' "$service"; done
}

# The ends of the logs of containers that failed or are not well; those that were never started have none.
show_troubled() {
    local id service status
    statuses | while read -r id service status; do
        if ! well "$status" && [ "$status" != Created ]; then
            say ''
            say "-- $service: $status; the end of its log:"
            docker logs --tail 15 "$id" >&2 || true
        fi
    done
}

start() {
    local log
    log=$(mktemp)
    if ! compose up --detach --no-build --remove-orphans 2>&1 | tee "$log" >&2; then
        if grep -qE 'port is already allocated|address already in use|[Pp]orts are not available' "$log"; then
            say 'A port is in use by another program: choose others, see .env.example.'
        fi
        rm -f "$log"
        show_troubled
        fail 'something did not start; see above'
    fi
    rm -f "$log"
}

wait_until_healthy() {
    local patience=${UP_TIMEOUT:-180} waiting before=''
    local deadline=$((SECONDS + patience))
    while waiting=$(pending) && [ -n "$waiting" ]; do
        [ "$waiting" = "$before" ] || say "Waiting for $waiting"
        before=$waiting
        if [ "$SECONDS" -ge "$deadline" ]; then
            show_troubled
            fail "not healthy after $patience s: $waiting"
        fi
        sleep 1
    done
}

show_addresses() {
    local host api
    host=$(setting BIND 127.0.0.1)
    case $host in 0.0.0.0 | 127.0.0.1) host=localhost ;; esac
    api=http://$host:$(setting ORCHESTRATOR_PORT 8010)
    cat <<END

Everything is up.

  API          $api/docs
  Site         http://$host:$(setting PUBLISHER_PORT 8012)/
  Posts        http://$host:$(setting SOCIAL_PORT 8013)/
  Monitor      http://$host:$(setting MONITOR_PORT 8014)/docs
  RabbitMQ     http://$host:$(setting RABBITMQ_UI_PORT 15672)/  (admin, RABBITMQ_PASSWORD of $env_file)
END
    if observed; then
        cat <<END
  Traces       http://$host:$(setting JAEGER_PORT 16686)/
  Metrics      http://$host:$(setting PROMETHEUS_PORT 9090)/
  Dashboards   http://$host:$(setting GRAFANA_PORT 3000)/  (to change them: admin, GRAFANA_PASSWORD of $env_file)
END
    fi
    case $env_file in */*) ;; *) env_file=./$env_file ;; esac
    cat <<END

Hand in keywords, and see how they fare:

  . $env_file
  curl -X PUT  $api/v1/brands/acme -H "X-Service-Key: \$SERVICE_KEY" -H 'Content-Type: application/json' -d '{"name": "Acme"}'
  curl -X POST $api/v1/brands/acme/research -H "X-Service-Key: \$SERVICE_KEY" -H 'Content-Type: application/json' \\
       -d '{"keywords": ["cold brew", "moka pot"]}'
  curl $api/v1/cycles/<cycle_id> -H "X-Service-Key: \$SERVICE_KEY"

Logs: docker compose logs --follow research     End it: make down (with the data: make down VOLUMES=1)
END
}

check_docker
make_settings
choose_files
check_corpus
check_ports
REVISION=$(git rev-parse --short HEAD 2>/dev/null || true)
export REVISION
say 'Building the images; the first time takes some minutes'
compose build >&2 || fail 'the images could not be built; see above'
start
wait_until_healthy
show_addresses
