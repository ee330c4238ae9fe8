#!/bin/sh
# Installs Debian packages, as root, without starting or enabling any server they bring: the nodes of the demo and of the
# tests are private ones. Servers that were installed before are left as they are.
set -eu

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
install() { apt-get install --quiet --quiet --yes --no-install-recommends "$@" >&2; }

policy=/usr/sbin/policy-rc.d
cluster_conf=/etc/postgresql-common/createcluster.conf
cron_was_there=$(installed cron && echo yes || echo no)
erlang_was_there=$(installed erlang-base && echo yes || echo no)
work=$(mktemp -d)

restore() {
    rm -f "$policy"
    [ ! -e "$work/policy-rc.d" ] || mv "$work/policy-rc.d" "$policy"
    [ ! -e "$work/createcluster.conf" ] || cat "$work/createcluster.conf" >"$cluster_conf"
    rm -rf "$work"
}
trap restore EXIT
trap 'exit 1' INT TERM HUP

# Debian asks this file before a package starts a service. Only ours are refused; about the rest, whoever was asked
# before is asked still.
[ ! -e "$policy" ] || mv "$policy" "$work/policy-rc.d"
cat >"$policy" <<END
#!/bin/sh
case " \$* " in
*" rabbitmq-server"*|*" postgresql"*|*" epmd"*|*" prometheus"*|*" caddy"*) exit 101 ;;
# Comes along with logrotate where there is no systemd.
*" cron "*) [ $cron_was_there = yes ] || exit 101 ;;
esac
[ ! -x "$work/policy-rc.d" ] || exec "$work/policy-rc.d" "\$@"
exit 0
END
chmod 755 "$policy"

apt-get update --quiet --quiet >&2

for package in "$@"; do
    case $package in
    postgresql | postgresql-*)
        # Otherwise the package makes a cluster "main" that starts with the next boot.
        installed postgresql-common || install postgresql-common
        cp "$cluster_conf" "$work/createcluster.conf"
        echo 'create_main_cluster = false' >>"$cluster_conf"
        ;;
    esac
done

install "$@"

# disable PACKAGE UNIT…: nothing of it starts with the next boot. Where there is no systemctl (yet), dpkg has enabled the
# units all the same, and disables them only for whoever names a package.
disable() {
    package=$1
    shift
    for unit in "$@"; do
        if command -v systemctl >/dev/null 2>&1; then
            systemctl --quiet disable "$unit" >&2 || true
        else
            DPKG_MAINTSCRIPT_PACKAGE=$package deb-systemd-helper disable "$unit" >&2 || true
        fi
        [ ! -e "/etc/init.d/${unit%.*}" ] || update-rc.d "${unit%.*}" disable >&2 || true
    done
}

for package in "$@"; do
    case $package in
    rabbitmq-server)
        disable rabbitmq-server rabbitmq-server.service
        [ "$erlang_was_there" = yes ] || disable erlang-base epmd.socket epmd.service
        ;;
    prometheus) disable prometheus prometheus.service ;;
    esac
done
