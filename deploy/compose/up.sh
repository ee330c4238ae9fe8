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

# What an older version wrote into the settings, and what would now hold back or mislead.
check_old_settings() {
    local name fixed=''
    if grep -q '^BIND=' "$env_file" && [ "$(sed -n 's/^BIND=//p' "$env_file" | tail -n 1)" != 127.0.0.1 ]; then
        say "Note: BIND in $env_file has no meaning any more; it opened everything. Site and posts listen where PUBLIC_BIND says"
    fi
    for name in VERSION RABBITMQ_IMAGE POSTGRES_IMAGE JAEGER_IMAGE PROMETHEUS_IMAGE GRAFANA_IMAGE; do
        if grep -q "^$name=" "$env_file"; then fixed="$fixed $name"; fi
    done
    [ -z "$fixed" ] || say "Note: $env_file fixes$fixed; without these lines, versions are those of the checkout"
}

choose_files() {
    COMPOSE_FILE=$(setting COMPOSE_FILE compose.yaml:compose.observability.yaml)
    [ -z "${MINIMAL:-}" ] || COMPOSE_FILE=compose.yaml
    COMPOSE_PROFILES=$(setting COMPOSE_PROFILES '')
    export COMPOSE_FILE COMPOSE_PROFILES
}

# Whether there is a proxy in front.
fronted() { case ,$COMPOSE_PROFILES, in *,tls,*) return 0 ;; *) return 1 ;; esac; }

observed() { case $COMPOSE_FILE in *observability*) return 0 ;; *) return 1 ;; esac; }

check_corpus() {
    local corpus
    corpus=$(setting CORPUS ./deploy/demo/corpus)
    [ -d "$corpus" ] || fail "CORPUS=$corpus is no folder; give one with .md, .txt or .html documents"
}

check_authorities() {
    local file
    file=$(setting SSL_CERT_FILE '')
    case $file in
    '') ;;
    /*) [ -f "$file" ] || fail "SSL_CERT_FILE=$file is no file; give one with certificates of authorities in PEM" ;;
    *) fail "SSL_CERT_FILE=$file must be a whole path, beginning with /" ;;
    esac
}

# Docker would make it for root, and backup.sh could not write to it.
make_backup_record() {
    local folder
    folder=$(setting BACKUP_RECORD_FOLDER "./.backup-record/$project")
    [ -d "$folder" ] || (umask 022 && mkdir -p "$folder") || fail "BACKUP_RECORD_FOLDER=$folder cannot be made"
}

check_tls() {
    local name
    fronted || return 0
    for name in PUBLISHER_URL SOCIAL_URL; do
        case $(setting "$name" '') in
        https://?*) ;;
        *) fail "with COMPOSE_PROFILES=tls, $name must say under which https:// address visitors come" ;;
        esac
    done
}

answers() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# Before anything is started: Docker itself would notice half-way, and not say which setting helps.
check_ports() {
    local pages front ours places place bind name port
    pages=$(setting PUBLIC_BIND 127.0.0.1)
    ours=$(docker ps --filter "label=com.docker.compose.project=$project" --format '{{.Ports}}')
    places="127.0.0.1:ORCHESTRATOR_PORT=8010 $pages:PUBLISHER_PORT=8012 $pages:SOCIAL_PORT=8013"
    places="$places 127.0.0.1:CONSOLE_PORT=8016 127.0.0.1:MONITOR_PORT=8014"
    places="$places 127.0.0.1:EVENTS_PORT=8017 127.0.0.1:RABBITMQ_UI_PORT=15672"
    if observed; then
        places="$places 127.0.0.1:JAEGER_PORT=16686 127.0.0.1:PROMETHEUS_PORT=9090"
        places="$places 127.0.0.1:ALERTMANAGER_PORT=9093 127.0.0.1:GRAFANA_PORT=3000"
    fi
    if fronted; then
        front=$(setting TLS_BIND 0.0.0.0)
        places="$places $front:TLS_PORT=443 $front:TLS_REDIRECT_PORT=80"
    fi
    for place in $places; do
        bind=${place%:*}
        [ "$bind" != 0.0.0.0 ] || bind=127.0.0.1
        place=${place##*:}
        name=${place%=*}
        port=$(first_port "$name" "${place#*=}")
        case $ours in *":$port->"*) continue ;; esac
        if answers "$bind" "$port"; then
            fail "port $port of $bind is in use by another program. Choose another, here or in $env_file: $name=$((port % 50000 + 10000)) make up"
        fi
    done
}

# Of several replicas each has one port of a range: 8010-8012.
first_port() {
    local ports
    ports=$(setting "$1" "$2")
    printf '%s\n' "${ports%%-*}"
}

# PostgreSQL reads the files of its own major version alone, and would end again and again.
check_database() {
    local image has takes
    docker volume inspect "${project}_postgres" >/dev/null 2>&1 || return 0
    image=$(compose config --images postgres | head -n 1)
    docker image inspect "$image" >/dev/null 2>&1 || docker pull --quiet "$image" >/dev/null || return 0
    has=$(docker run --rm --volume "${project}_postgres:/data:ro" --entrypoint cat "$image" /data/PG_VERSION 2>/dev/null) || return 0
    takes=$(docker image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$image" | sed -n 's/^PG_MAJOR=//p')
    [ -z "$takes" ] || [ "$has" = "$takes" ] \
        || fail "the databases are of PostgreSQL $has, and $image is $takes. Upgrade them: deploy/compose/upgrade-postgres.sh $image FOLDER; or stay, with POSTGRES_IMAGE=postgres:$has in $env_file"
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

# The networks of the compose files, one line each: `NAME INTERNAL SUBNET OPTION=VALUE…`, and `-` for a subnet that Docker chooses.
wanted_networks() {
    compose config | awk '
        function show() { if (name != "") print name, internal, subnet, options }
        /^networks:/ { inside = 1; next }
        /^[^ ]/ { inside = 0 }
        !inside { next }
        /^  [^ ]/ { show(); name = ""; internal = "false"; subnet = "-"; options = "" }
        /^    name: / { name = $2 }
        /^    internal: / { internal = $2 }
        /^ +- subnet: / { subnet = $3 }
        /^      com\.docker\.network\.bridge\./ { gsub(/[":]/, "", $1); gsub(/"/, "", $2); options = options $1 "=" $2 " " }
        END { show() }'
}

# The same of a network as Docker has it; nothing where there is none of this name.
existing_network() {
    docker network inspect --format '{{.Internal}}{{range .IPAM.Config}} {{.Subnet}}{{end}}
{{range $name, $value := .Options}}{{println $name $value}}{{end}}' "$1" 2>/dev/null | awk '
        NR == 1 { internal = $1; subnet = $2; next }
        $1 ~ /^com\.docker\.network\.bridge\./ { options = options $1 "=" $2 " " }
        END { if (NR) print internal, subnet, options }'
}

# The networks of an older version that the compose files now describe otherwise.
changed_networks() {
    local name internal subnet options has
    wanted_networks | while read -r name internal subnet options; do
        has=$(existing_network "$name")
        [ -n "$has" ] || continue
        if [ "$subnet" = - ]; then has="${has%% *} - $(printf '%s' "$has" | cut -d ' ' -f 3-)"; fi
        [ "$(echo $has)" = "$(echo $internal $subnet $options)" ] || printf '%s ' "$name"
    done
}

# Docker changes no network while a container holds it, and Docker Compose stops only what the new files connect to it.
clear_changed_networks() {
    local changed
    changed=$(changed_networks)
    [ -n "$changed" ] || return 0
    stop_all "${changed% }"
}

# stop_all NETWORKS: they go with the containers.
stop_all() {
    say "This version describes other networks: $1. All containers are stopped and made anew; the data stay"
    VOLUMES='' deploy/compose/down.sh >&2 || fail 'the containers of the version before could not be removed; see above'
}

# Containers of services that the files and profiles no longer name, such as the proxy of a profile that was taken out.
# What an operator runs by `docker compose run` is left alone.
remove_unwanted() {
    local wanted id service unwanted='' names=''
    wanted=$(compose config --services) || fail 'the compose files could not be read; see above'
    while read -r id service; do
        [ -n "$id" ] || continue
        printf '%s\n' "$wanted" | grep -qxF -- "$service" || { unwanted="$unwanted $id" names="$names $service"; }
    done <<END
$(docker ps --all --filter "label=com.docker.compose.project=$project" --filter label=com.docker.compose.oneoff=False \
    --format '{{.ID}} {{.Label "com.docker.compose.service"}}')
END
    [ -n "$unwanted" ] || return 0
    say "Removing what the settings no longer ask for:$names"
    docker stop $unwanted >/dev/null && docker rm $unwanted >/dev/null || fail "these could not be removed:$names"
}

start() {
    local log held
    log=$(mktemp)
    if ! compose up --detach --no-build --remove-orphans 2>&1 | tee "$log" >&2; then
        # Docker Compose may see a difference that we do not look at.
        held=$(sed -n 's/.*network \([^ ]*\) .*has active endpoints.*/\1/p' "$log" | head -n 1)
        if [ -n "$held" ] && [ "${1:-}" != again ]; then
            rm -f "$log"
            stop_all "$held"
            start again
            return
        fi
        if grep -qE 'Pool overlaps' "$log"; then
            say 'Another network has the addresses of PROXY_NETWORK: choose others, see .env.example.'
        fi
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

# page PORT DEFAULT [BIND]: where people on this machine find it.
page() {
    local host=${3:-127.0.0.1}
    case $host in 0.0.0.0 | 127.0.0.1) host=localhost ;; esac
    printf 'http://%s:%s\n' "$host" "$(first_port "$1" "$2")"
}

show_addresses() {
    local pages api
    pages=$(setting PUBLIC_BIND 127.0.0.1)
    api=$(page ORCHESTRATOR_PORT 8010)
    cat <<END

Everything is up.

  Console      $(setting CONSOLE_URL "$(page CONSOLE_PORT 8016)")/
  API          $api/docs
  Site         $(page PUBLISHER_PORT 8012 "$pages")/
  Posts        $(page SOCIAL_PORT 8013 "$pages")/
  Monitor      $(page MONITOR_PORT 8014)/docs
  Events       $(page EVENTS_PORT 8017)/docs
  RabbitMQ     $(page RABBITMQ_UI_PORT 15672)/  (admin, RABBITMQ_PASSWORD of $env_file)
END
    if observed; then
        cat <<END
  Traces       $(page JAEGER_PORT 16686)/
  Metrics      $(page PROMETHEUS_PORT 9090)/
  Alerts       $(page ALERTMANAGER_PORT 9093)/
  Dashboards   $(page GRAFANA_PORT 3000)/  (to change them: admin, GRAFANA_PASSWORD of $env_file)
END
        if [ -z "$(setting ALERT_EMAIL_TO '')$(setting ALERT_WEBHOOK_URL '')" ]; then
            echo "  Alerts are shown there and sent to nobody: ALERT_EMAIL_TO or ALERT_WEBHOOK_URL in $env_file says to whom."
        fi
    fi
    if fronted; then
        cat <<END
  From outside $(setting PUBLISHER_URL '')/ and $(setting SOCIAL_URL '')/
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

Look after it: ./brandctl --help
Logs: docker compose logs --follow research     End it: make down (with the data: make down VOLUMES=1)
END
}

check_docker
deploy/compose/settings.sh || fail 'see above'
check_old_settings
choose_files
check_corpus
check_authorities
check_tls
make_backup_record
check_ports
check_database
REVISION=$(git rev-parse --short HEAD 2>/dev/null || true)
export REVISION
say 'Building the images; the first time takes some minutes'
# Along with the operator's command, which would else stay that of the version before.
COMPOSE_PROFILES=${COMPOSE_PROFILES:+$COMPOSE_PROFILES,}tools compose build >&2 || fail 'the images could not be built; see above'
remove_unwanted
clear_changed_networks
start
wait_until_healthy
show_addresses
