#!/bin/sh
# Brings an overlay into the cluster that kubectl speaks with, in order: secrets that are missing, what the services stand
# on, topology and migrations, and only then the services; last, what earlier releases left behind is removed. Safe to
# repeat; an update of the images goes the same way. A migration that fails ends it, with its log, before any service is touched.
#
#   deploy/kubernetes/apply.sh dev
#   deploy/kubernetes/apply.sh prod
#   deploy/kubernetes/apply.sh alertmanager     where the Alertmanager of the Prometheus operator's chart may go
set -eu
home=$(cd "$(dirname "$0")" && pwd)
overlay=${1:?"say which overlay: apply.sh dev"}
case $overlay in */*) ;; *) overlay=$home/overlays/$overlay ;; esac

say() { printf '\n%s\n' "$*" >&2; }

jobs='app.kubernetes.io/component in (migration, topology)'
part=app.kubernetes.io/part-of=brand-engine

# A job per line: its name, and the conditions that hold.
states() {
    kubectl --namespace "$namespace" get job --selector "$jobs" --output \
        'jsonpath={range .items[*]}{.metadata.name}{range .status.conditions[?(@.status=="True")]}{" "}{.type}{end}{"\n"}{end}'
}

await_jobs() {
    waited=0
    while :; do
        # An API server that is away for a moment is asked again.
        found=$(states) || found=
        case "$found " in *' Failed'*) what='failed' pattern=' Failed'; break ;; esac
        if [ -n "$found" ] && ! printf '%s\n' "$found" | grep -qv ' Complete'; then return; fi
        if [ "$waited" -ge 1200 ]; then what='did not end within 20 minutes' pattern=; break; fi
        sleep 2
        waited=$((waited + 2))
        if [ $((waited % 30)) = 0 ]; then
            say "Not done after $waited seconds. Logs: kubectl --namespace $namespace logs --selector '$jobs' --prefix"
            kubectl --namespace "$namespace" get job --selector "$jobs" >&2 || true
        fi
    done
    [ -n "$found" ] || say 'No job is there, or the cluster does not answer.'
    for job in $(printf '%s\n' "$found" | grep -v ' Complete' | grep "$pattern" | cut -d ' ' -f 1); do
        say "Job $job $what. The end of its log:"
        kubectl --namespace "$namespace" logs --selector "batch.kubernetes.io/job-name=$job" \
            --all-containers --prefix --tail 30 >&2 || true
    done
    say 'The services were left as they are. Mend what the log says, then run this again.'
    exit 1
}

# `--prune-allowlist` for every kind that may go with its file and that the cluster knows. Whatever holds data is not
# among them: clusters, databases, claims, secrets. A queue stays in the broker when its resource goes. Nor are settings
# of earlier releases: what `kubectl rollout undo` goes back to reads them.
prunable() {
    served=" $(kubectl api-versions | tr '\n' ' ') "
    for kind in \
        core/v1/Service core/v1/ServiceAccount apps/v1/Deployment batch/v1/Job policy/v1/PodDisruptionBudget \
        networking.k8s.io/v1/Ingress networking.k8s.io/v1/NetworkPolicy \
        rabbitmq.com/v1beta1/Binding rabbitmq.com/v1beta1/Exchange rabbitmq.com/v1beta1/Queue rabbitmq.com/v1beta1/User \
        rabbitmq.com/v1beta1/Permission rabbitmq.com/v1beta1/TopicPermission \
        keda.sh/v1alpha1/ScaledObject keda.sh/v1alpha1/TriggerAuthentication \
        monitoring.coreos.com/v1/PodMonitor monitoring.coreos.com/v1/PrometheusRule monitoring.coreos.com/v1/ServiceMonitor \
        cert-manager.io/v1/Certificate cert-manager.io/v1/Issuer postgresql.cnpg.io/v1/ScheduledBackup; do
        version=${kind%/*}
        case $served in *" ${version#core/} "*) echo "--prune-allowlist=$kind" ;; esac
    done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kubectl kustomize "$overlay" >"$work/all.yaml"
namespace=$(sed -n 's/^namespace: *//p' "$overlay/kustomization.yaml")

# The addresses of examples (RFC 5737): with these, no server finds the others, and no backup leaves.
if grep -qE 'cidr: (192\.0\.2|198\.51\.100|203\.0\.113)\.' "$work/all.yaml"; then
    say "Broker, database and Alertmanager reach only the addresses that $overlay/kustomization.yaml names, and it still has those of the examples:
$(grep -E 'cidr: (192\.0\.2|198\.51\.100|203\.0\.113)\.' "$work/all.yaml" | sort -u)
Put these in their place (patches of NetworkPolicy):
  of the API server:        kubectl get endpointslices --namespace default kubernetes; kubectl get service --namespace default kubernetes
  of the store for backups: what its provider publishes, or dig +short HOST
  of the receivers of alerts: dig +short HOST of the mail server or the webhook"
    exit 1
fi
# Policies alone, such as those of Alertmanager, wait for nothing.
if ! grep '^kind: ' "$work/all.yaml" | grep -qv '^kind: NetworkPolicy$'; then
    kubectl apply --filename "$work/all.yaml"
    exit
fi
kubectl apply --filename "$work/all.yaml" --selector 'app.kubernetes.io/component=namespace'

say 'Secrets'
"$home/secrets.sh" "$namespace"

# given NAME HOW: a secret that nobody here can make, because what is in it comes from elsewhere.
given() {
    if grep -q "name: $1\$" "$work/all.yaml" && ! kubectl --namespace "$namespace" get secret "$1" >/dev/null 2>&1; then
        say "The secret $1 is missing. Make it, or take what needs it out of the overlay:
  kubectl --namespace $namespace create secret $2"
        exit 1
    fi
}
given backup-store 'generic backup-store --from-literal ACCESS_KEY_ID=… --from-literal ACCESS_SECRET_KEY=…'
given registry 'docker-registry registry --docker-server=… --docker-username=… --docker-password=…'

say 'Broker, database, topology and migrations'
# Those of this release may be there from the last time: a job cannot be changed, only made anew.
kubectl --namespace "$namespace" delete job --ignore-not-found --selector "$jobs"
kubectl apply --filename "$work/all.yaml" --selector 'app.kubernetes.io/component!=service'
if grep -q '^  name: postgres-databases$' "$work/all.yaml"; then
    # The image runs the script by itself on a new volume; on one of an earlier version, roles may be missing.
    kubectl --namespace "$namespace" rollout status statefulset postgres --timeout=10m
    kubectl --namespace "$namespace" exec statefulset/postgres -- \
        env PGUSER=postgres sh /docker-entrypoint-initdb.d/databases.sh
fi
await_jobs
if grep -q '^kind: RabbitmqCluster$' "$work/all.yaml"; then
    for kind in exchanges queues bindings users permissions topicpermissions; do
        kubectl --namespace "$namespace" wait "$kind.rabbitmq.com" --all --for=condition=Ready --timeout=10m
    done
fi

say 'Services'
kubectl apply --filename "$work/all.yaml" --selector "$part"
for service in $(sed -n 's|^  - services/\(.*\)\.yaml$|\1|p' "$home/base/kustomization.yaml"); do
    kubectl --namespace "$namespace" rollout status deployment "$service" --timeout=10m
done

say 'What earlier releases left behind'
# Only now: until here, replicas of the release before needed what was theirs.
# shellcheck disable=SC2046 # a list of words
kubectl apply --filename "$work/all.yaml" --prune --selector "$part" $(prunable) >"$work/pruned"
grep ' pruned$' "$work/pruned" || echo 'nothing'
