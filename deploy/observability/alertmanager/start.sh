#!/bin/sh
# Starts Alertmanager with receivers from the environment, which its own configuration cannot read:
#
#   ALERT_EMAIL_TO     whom to write to; several with commas. Takes ALERT_EMAIL_FROM and SMTP_HOST (host:port) as well, and
#                      SMTP_USERNAME and SMTP_PASSWORD where the server asks for them; SMTP_REQUIRE_TLS=false sends
#                      without encryption where it offers none
#   ALERT_WEBHOOK_URL  where to post them as JSON
#   PAGE               where people find Alertmanager's page; stands in what they are sent
#
# SMTP_PASSWORD and ALERT_WEBHOOK_URL may be in the files that SMTP_PASSWORD_FILE and ALERT_WEBHOOK_URL_FILE name; an empty
# file is none. With neither of the first two, alerts are shown on its page and sent nowhere.
set -eu

config=${CONFIG:-/tmp/alertmanager.yml}
fail() { echo "alertmanager cannot start: $*" >&2; exit 1; }

# A value in YAML's single quotes, where nothing but a quote means anything.
quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/''/g")"; }

for name in SMTP_PASSWORD ALERT_WEBHOOK_URL; do
    file=$(printenv "${name}_FILE") || continue
    [ -z "$file" ] || eval "$name=\$(cat \"\$file\")" || fail "${name}_FILE: $file cannot be read"
done

if [ -n "${ALERT_EMAIL_TO:-}" ]; then
    [ -n "${ALERT_EMAIL_FROM:-}" ] || fail 'ALERT_EMAIL_TO takes ALERT_EMAIL_FROM, the address that alerts come from'
    case ${SMTP_HOST:-} in
    ?*:?*) ;;
    *) fail 'ALERT_EMAIL_TO takes SMTP_HOST, the mail server with its port: mail.example.org:587' ;;
    esac
fi

write_config() {
    cat <<'END'
route:
  receiver: people
  # What has one cause tends to come together.
  group_by: [job]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 4h
  routes:
    - matchers: ['severity="critical"']
      repeat_interval: 1h
receivers:
  - name: people
END
    if [ -n "${ALERT_EMAIL_TO:-}" ]; then
        cat <<END
    email_configs:
      - to: $(quoted "$ALERT_EMAIL_TO")
        from: $(quoted "$ALERT_EMAIL_FROM")
        smarthost: $(quoted "$SMTP_HOST")
        send_resolved: true
        require_tls: ${SMTP_REQUIRE_TLS:-true}
        auth_username: $(quoted "${SMTP_USERNAME:-}")
        auth_password: $(quoted "${SMTP_PASSWORD:-}")
END
    fi
    if [ -n "${ALERT_WEBHOOK_URL:-}" ]; then
        cat <<END
    webhook_configs:
      - url: $(quoted "$ALERT_WEBHOOK_URL")
        send_resolved: true
END
    fi
}

# The password is in it.
(umask 077 && write_config >"$config")
exec "${ALERTMANAGER:-/bin/alertmanager}" --config.file="$config" --storage.path="${STORAGE:-/alertmanager}" \
    --web.external-url="${PAGE:-http://localhost:9093}" --cluster.listen-address= "$@"
