#!/usr/bin/env bash
# A real mail server (OpenSMTPD) for tests of notifications: mail.sh FOLDER PORT starts one on 127.0.0.1 and writes FOLDER/credentials.json;
# mail.sh FOLDER PORT stop ends it. PORT demands STARTTLS and a log-in. What is accepted lies in maildirs under FOLDER/mail/LOCALPART.
# It is unpacked from Debian's package into FOLDER and not installed. Root is needed: the daemon separates its privileges, and a mount
# namespace of its own puts the paths that are compiled into it under FOLDER; outside it, three empty folders are all that it makes.
# Recipients that it does not take: busy@ 451, gone@ 550.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
port=$2
root=$folder/root

if [ "${3:-}" = stop ]; then
  if [ -s "$folder/smtpd.pid" ]; then
    pid=$(cat "$folder/smtpd.pid")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    rm -f "$folder/smtpd.pid"
  fi
  exit 0
fi
if [ -s "$folder/smtpd.pid" ] && kill -0 "$(cat "$folder/smtpd.pid")" 2>/dev/null; then exit 0; fi
[ "$(id -u)" = 0 ] || { echo "mail.sh: run it as root: the mail server separates its privileges" >&2; exit 1; }

if [ ! -x "$root/usr/sbin/smtpd" ]; then
  # Debian 12's own fails every TLS handshake with OpenSSL 3; its backports have a later one.
  . /etc/os-release
  suite=${VERSION_CODENAME:?}
  [ "$suite" != bookworm ] || suite=bookworm-backports
  mirror=$(awk '/^URIs:/ && /debian/ && !found {found = $2} /^deb .*debian/ && !found {for (i = 1; i <= NF; i++) if ($i ~ /:\/\//) {found = $i; break}} END {print found}' \
    $(ls /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null))
  apt=$folder/apt
  mkdir -p "$root" "$apt/lists/partial" "$apt/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/sources.list"
  get() {
    apt-get -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists" \
      -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root "$@"
  }
  (cd "$apt" && get update -qq && get download -qq opensmtpd && dpkg -x opensmtpd_*.deb "$root") >"$folder/apt.log" 2>&1 ||
    { cat "$folder/apt.log" >&2; exit 1; }
  rm -rf "$apt"
fi
if ldd "$root/usr/sbin/smtpd" | grep -q 'not found'; then
  echo "mail.sh: libraries of the mail server are missing: apt-get install libevent-2.1-7 libdb5.3 (libevent-2.1-7t64 libdb5.3t64 from Debian 13)" >&2
  exit 1
fi
# Who its parts run as, known within its own namespace alone.
mkdir -p "$folder"/{etc,spool,mail}
chmod 711 "$folder/spool"
chown nobody "$folder/mail"
for name in passwd group; do cp "/etc/$name" "$folder/etc/$name"; done
while read -r user id; do
  grep -q "^$user:" "$folder/etc/passwd" || echo "$user:x:$id:$id::/var/lib/opensmtpd/empty:/usr/sbin/nologin" >>"$folder/etc/passwd"
  grep -q "^$user:" "$folder/etc/group" || echo "$user:x:$id:" >>"$folder/etc/group"
done <<EOF
opensmtpd 64109
opensmtpq 64122
EOF
if [ ! -f "$folder/etc/key.pem" ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=127.0.0.1 -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' \
    -keyout "$folder/etc/key.pem" -out "$folder/etc/cert.pem" 2>/dev/null
fi
chmod 600 "$folder/etc/key.pem"
printf 'user %s\n' "$(openssl passwd -6 mail-password)" >"$folder/etc/creds"
cat >"$folder/etc/smtpd.conf" <<EOF
pki here cert "$folder/etc/cert.pem"
pki here key "$folder/etc/key.pem"
table creds file:$folder/etc/creds
table everybody { "@" = "nobody" }
filter busy phase rcpt-to match rcpt-to regex "^busy@" reject "451 4.7.1 Greylisted, try again later"
filter gone phase rcpt-to match rcpt-to regex "^gone@" reject "550 5.1.1 No such user"
filter all chain { busy, gone }
listen on 127.0.0.1 port $port tls-require pki here auth <creds> filter all
action deliver maildir "$folder/mail/%{rcpt.user}" virtual <everybody>
match from any for any action deliver
EOF
cat >"$folder/run.sh" <<EOF
mount --make-rprivate /
mkdir -p /var/spool/smtpd /usr/libexec/opensmtpd /var/lib/opensmtpd/empty
mount --bind "$root/usr/libexec/opensmtpd" /usr/libexec/opensmtpd
mount --bind "$folder/spool" /var/spool/smtpd
mount --bind "$folder/etc/passwd" /etc/passwd
mount --bind "$folder/etc/group" /etc/group
mount -t tmpfs tmpfs /run
exec "$root/usr/sbin/smtpd" -d -f "$folder/etc/smtpd.conf"
EOF
nohup unshare -m bash "$folder/run.sh" >"$folder/smtpd.log" 2>&1 </dev/null &
echo $! >"$folder/smtpd.pid"
cat >"$folder/credentials.json" <<EOF
{"host": "127.0.0.1", "port": $port, "user": "user", "password": "mail-password", "authority": "$folder/etc/cert.pem", "mail": "$folder/mail"}
EOF
chmod 600 "$folder/credentials.json"
for _ in $(seq 100); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then exit 0; fi
  kill -0 "$(cat "$folder/smtpd.pid")" 2>/dev/null || break
  sleep 0.1
done
cat "$folder/smtpd.log" >&2
exit 1
