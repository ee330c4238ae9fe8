#!/bin/sh
# Brings an overlay into the cluster that kubectl speaks with, in order: secrets that are missing, what the services stand
# on, topology and migrations, and only then the services. Safe to repeat; an update of the images goes the same way.
#
#   deploy/kubernetes/apply.sh dev
#   deploy/kubernetes/apply.sh prod
set -eu
home=$(cd "$(dirname "$0")" && pwd)
overlay=${1:?"say which overlay: apply.sh dev"}
case $overlay in */*) ;; *) overlay=$home/overlays/$overlay ;; esac

say() { printf '\n%s\n' "$*" >&2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kubectl kustomize "$overlay" >"$work/all.yaml"
namespace=$(sed -n 's/^namespace: *//p' "$overlay/kustomization.yaml")
kubectl apply --filename "$overlay/namespace.yaml"

say 'Secrets'
"$home/secrets.sh" "$namespace"

say 'Broker, database, topology and migrations'
# A job cannot be changed, only made anew.
kubectl --namespace "$namespace" delete job --ignore-not-found --selector 'app.kubernetes.io/component in (migration, topology)'
kubectl apply --filename "$work/all.yaml" --selector 'app.kubernetes.io/component!=service'
kubectl --namespace "$namespace" wait job --for=condition=Complete --timeout=20m \
    --selector 'app.kubernetes.io/component in (migration, topology)'
if grep -q '^kind: RabbitmqCluster$' "$work/all.yaml"; then
    for kind in exchanges queues bindings users permissions topicpermissions; do
        kubectl --namespace "$namespace" wait "$kind.rabbitmq.com" --all --for=condition=Ready --timeout=10m
    done
fi

say 'Services'
kubectl apply --filename "$work/all.yaml"
for service in orchestrator research publisher social monitor; do
    kubectl --namespace "$namespace" rollout status deployment "$service" --timeout=10m
done
