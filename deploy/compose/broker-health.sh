#!/usr/bin/env bash
# The health check of the broker: it takes connections, which it does last when it starts, and has no alarm. By what bash can do alone:
# each call of rabbitmq-diagnostics starts an Erlang machine, which takes half a second of processor and more.
set -euo pipefail
amqp=${1:-5672} metrics=${2:-15692}

# Closed before a byte is sent, as balancers do: the broker does not log that.
exec 3<>"/dev/tcp/127.0.0.1/$amqp"
exec 3>&-

exec 3<>"/dev/tcp/127.0.0.1/$metrics"
printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
alarms=$(grep -E '^rabbitmq_alarms_(memory_used|free_disk_space)_watermark[ {]' <&3) || true
if [ "$(wc -l <<<"$alarms")" -lt 2 ]; then
    printf 'port %s tells nothing of alarms\n' "$metrics" >&2
    exit 1
fi
if raised=$(grep -v ' 0' <<<"$alarms"); then
    printf 'the broker takes no messages: %s\n' "$raised" >&2
    exit 1
fi
