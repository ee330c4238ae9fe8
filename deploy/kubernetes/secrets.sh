#!/bin/sh
# Makes the secrets of a namespace that are not there yet, with random passwords; those that are there stay as they are.
#
#   deploy/kubernetes/secrets.sh brand-engine-dev            makes them in the cluster that kubectl speaks with
#   deploy/kubernetes/secrets.sh --print brand-engine-dev    writes them all to standard output instead
#
# Where a vault makes your secrets, have it make these, by the same names and with the same keys. Passwords stand in URLs:
# letters and digits alone.
set -eu

home=$(cd "$(dirname "$0")" && pwd)
print=
if [ "${1:-}" = --print ]; then print=1; shift; fi
namespace=${1:?"say which namespace: secrets.sh brand-engine-dev"}

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# named PATTERN: the secrets of such names that services are given.
named() { sed -n "s/.*secretKeyRef: {name: \($1\),.*/\1/p" "$home"/base/services/*.yaml | sort -u; }

# secret NAME TYPE LABELS KEY VALUE [KEY VALUE ...]
secret() {
    name=$1 type=$2 labels=$3
    shift 3
    if [ -z "$print" ] && kubectl --namespace "$namespace" get secret "$name" >/dev/null 2>&1; then
        return
    fi
    {
        printf -- '---\napiVersion: v1\nkind: Secret\n'
        printf 'metadata: {name: %s, namespace: %s, labels: {%s}}\n' "$name" "$namespace" "$labels"
        printf 'type: %s\nstringData:\n' "$type"
        while [ $# -gt 0 ]; do printf '  %s: "%s"\n' "$1" "$2"; shift 2; done
    } | if [ -n "$print" ]; then cat; else kubectl create --filename -; fi
}

part='app.kubernetes.io/part-of: brand-engine'
# The operators look at secrets with these labels alone.
for_rabbitmq="$part, rabbitmq.com/topology-operator: \"true\""
for_postgres="$part, cnpg.io/reload: \"true\""

key=$(random)
secret service-key Opaque "$part" service-key "$key"
if [ -z "$print" ]; then key=$(kubectl --namespace "$namespace" get secret service-key --output 'jsonpath={.data.service-key}' | base64 -d); fi
# What services know of it, which can tell the key and cannot send it. To change the key, delete both.
secret service-key-hash Opaque "$part" service-key-hash "sha256:$(printf %s "$key" | sha256sum | cut -d ' ' -f 1)"
# What services ask each other with; to rotate one, put another before it, with a comma.
for pair in $(named '[a-z_]*-to-[a-z_]*'); do
    secret "$pair" Opaque "$part" service-key "$(random)"
done
# What the keys of providers are encrypted with; to rotate it, put another before it, with a comma.
secret gateway-keys Opaque "$part" keys "$(head -c 32 /dev/urandom | base64 | tr '+/' '-_')"
for service in $(named '[a-z_]*-broker'); do
    service=${service%-broker}
    secret "$service-broker" Opaque "$for_rabbitmq" username "$service" password "$(random)"
done
for service in $(named '[a-z_]*-runtime'); do
    service=${service%-runtime}
    secret "$service-database" kubernetes.io/basic-auth "$for_postgres" username "$service" password "$(random)"
    secret "$service-runtime" kubernetes.io/basic-auth "$for_postgres" username "${service}_runtime" password "$(random)"
done
password=$(random)
secret keda-broker Opaque "$for_rabbitmq" username keda password "$password" \
    host "http://keda:$password@rabbitmq.$namespace.svc:15672/" \
    host-tls "https://keda:$password@rabbitmq.$namespace.svc:15671/" tls enable
# For the plain servers of the development overlay; operators make administrators of their own.
secret postgres-administrator Opaque "$part" username postgres password "$(random)"
secret rabbitmq-administrator Opaque "$part" username administrator password "$(random)"
