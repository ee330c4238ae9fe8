#!/usr/bin/env bash
# A real server that speaks Mastodon's API, for tests of its adapter: mastodon.sh FOLDER PORT starts snac on 127.0.0.1 and writes
# FOLDER/credentials.json; mastodon.sh FOLDER PORT stop ends it. 54 MB from Debian's packages, which are unpacked beside the system
# and run by their own loader: Debian 12 has none. MASTODON_APP names the folder that several may share.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
port=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pidfile=$folder/snac.pid

if [ "${3:-}" = stop ]; then
  [ -s "$pidfile" ] || exit 0
  pid=$(cat "$pidfile")
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  rm -f "$pidfile"
  exit 0
fi
if [ -s "$pidfile" ] && kill -0 "$(cat "$pidfile")" 2>/dev/null; then exit 0; fi

app=$(mkdir -p "${MASTODON_APP:-$folder/app}" && cd "${MASTODON_APP:-$folder/app}" && pwd)
if [ ! -x "$app/usr/bin/snac" ]; then
  apt=$app/apt
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  : >"$apt/status"
  # The mirror that this machine uses, whichever way its sources are written.
  sources=$(ls /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true)
  # shellcheck disable=SC2086
  mirror=$(grep -hoE '[a-z+]+://[^ ]*debian/?( |$)' $sources | head -1 | tr -d ' ')
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$apt/sources.list"
  own_apt() {
    apt-get -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists" \
      -o "Dir::Cache::archives=$apt/archives" -o "Dir::State::status=$apt/status" -o APT::Sandbox::User=root "$@"
  }
  own_apt -qq update >"$folder/install.log" 2>&1
  own_apt -qq -y --no-install-recommends --download-only install snac2 >>"$folder/install.log" 2>&1
  for package in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$app" --keep-directory-symlink 2>/dev/null || true
  done
  rm -rf "$apt"
fi
libraries=$app/usr/lib/x86_64-linux-gnu
snac() { "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$app/usr/bin/snac" "$@"; }

if [ ! -e "$folder/data/server.json" ]; then
  printf '127.0.0.1\n%s\n127.0.0.1:%s\n\nadmin@example.com\n' "$port" "$port" | snac init "$folder/data" >"$folder/init.log" 2>&1
  python3 - "$folder/data/server.json" <<'P'
import json, sys
path = sys.argv[1]
settings = json.load(open(path)) | {"protocol": "http"}
json.dump(settings, open(path, "w"))
P
  printf 'Acme\nen\n' | snac adduser "$folder/data" acme >"$folder/account.log" 2>&1
fi
"$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$app/usr/bin/snac" httpd "$folder/data" >"$folder/snac.log" 2>&1 </dev/null &
echo $! >"$pidfile"
for _ in $(seq 100); do
  curl --silent --fail --output /dev/null "http://127.0.0.1:$port/api/v1/instance" && break
  if ! kill -0 "$(cat "$pidfile")" 2>/dev/null; then tail -20 "$folder/snac.log" >&2; exit 1; fi
  sleep 0.1
done
[ -s "$folder/credentials.json" ] || python3 "$here/mastodon/sign_in.py" "http://127.0.0.1:$port" "$folder"
