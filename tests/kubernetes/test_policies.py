"""Each rule notices what it is there for: manifests are broken in one place, and that rule must say so."""

from collections.abc import Callable
from typing import Any

import pytest

from manifests import encryption, policies
from manifests.cluster import Cluster
from tests.fixtures.kubernetes.breaking import (
    BOUND,
    Mutation,
    added,
    annotated,
    container,
    environment,
    find,
    ingress_path,
    metadata,
    pod,
    policy,
    setting,
    spec,
    together,
    variable,
    without,
)

SOCIAL = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "social"}}}
RESEARCH = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "research"}}}
ANYWHERE = {"ipBlock": {"cidr": "0.0.0.0/0"}}
API_SERVER = {"ipBlock": {"cidr": "192.0.2.10/32"}}
STORE = {"ipBlock": {"cidr": "198.51.100.20/32"}}
PUBLIC = {
    "ipBlock": {
        "cidr": "0.0.0.0/0",
        "except": [
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.168.0.0/16",
        ],
    }
}


def without_path(path: str) -> Callable[[dict[str, Any]], object]:
    def change(ingress: dict[str, Any]) -> None:
        paths = ingress["rules"][0]["http"]["paths"]
        paths.remove(next(each for each in paths if each["path"] == path))

    return change


def first_address(cidr: str) -> Callable[[dict[str, Any]], object]:
    return lambda policy: policy["egress"][0]["to"][0]["ipBlock"].update(cidr=cidr)


def own_host(host: str, service: str = "publisher") -> Callable[[dict[str, Any]], object]:
    """One more host; every path of it leads to the service."""
    backend = {"service": {"name": service, "port": {"name": "http"}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    return lambda ingress: ingress["rules"].append({"host": host, "http": {"paths": paths}})


MUTATIONS: dict[str, list[tuple[str, Mutation]]] = {
    "restricted": [
        ("may be root", pod("social", lambda it: it["securityContext"].pop("runAsNonRoot"))),
        ("is root", pod("social", lambda it: it["securityContext"].update(runAsUser=0))),
        ("no seccomp", pod("social", lambda it: it["securityContext"].pop("seccompProfile"))),
        ("network of the node", pod("social", lambda it: it.update(hostNetwork=True))),
        (
            "path of the node",
            pod("social", lambda it: it["volumes"].append({"name": "a", "hostPath": {"path": "/"}})),
        ),
        ("privileged", container("social", lambda it: it["securityContext"].update(privileged=True))),
        ("escalation", container("social", lambda it: it["securityContext"].pop("allowPrivilegeEscalation"))),
        ("capabilities", container("social", lambda it: it["securityContext"].pop("capabilities"))),
        ("port of the node", container("social", lambda it: it["ports"][0].update(hostPort=80))),
        (
            "in a job",
            container("migrate-social", lambda it: it["securityContext"].pop("capabilities"), kind="Job"),
        ),
    ],
    "read-only": [
        (
            "writable",
            container("social", lambda it: it["securityContext"].update(readOnlyRootFilesystem=False)),
        )
    ],
    "limits": [
        ("no limits", container("social", lambda it: it["resources"].pop("limits"))),
        ("no memory limit", container("social", lambda it: it["resources"]["limits"].pop("memory"))),
        ("no requests", container("migrate-social", lambda it: it["resources"].pop("requests"), kind="Job")),
        ("volume without end", pod("social", lambda it: it["volumes"].append({"name": "a", "emptyDir": {}}))),
    ],
    "guaranteed": [
        (
            "the database asks for less",
            spec("Cluster", "postgres", lambda it: it["resources"]["requests"].update(cpu="1")),
        ),
        ("the broker for none", spec("RabbitmqCluster", "rabbitmq", lambda it: it.pop("resources"))),
        (
            "beside the database",
            spec("ObjectStore", "backups", lambda it: it.pop("instanceSidecarConfiguration")),
        ),
    ],
    "no token": [
        ("token", pod("social", lambda it: it.pop("automountServiceAccountToken"))),
        ("default account", pod("social", lambda it: it.pop("serviceAccountName"))),
        ("account gone", without("ServiceAccount", "social")),
        (
            "rights",
            added(
                "RoleBinding", "a", "rbac.authorization.k8s.io/v1", {"roleRef": {"kind": "Role", "name": "a"}}
            ),
        ),
    ],
    "namespace": [
        (
            "of no version",
            metadata(
                "Namespace",
                "brand-engine",
                lambda it: it["labels"].pop("pod-security.kubernetes.io/enforce-version"),
            ),
        ),
        ("not enforced", lambda all_: find(all_, "Namespace", "brand-engine")["metadata"].pop("labels")),
        ("elsewhere", lambda all_: find(all_, "Service", "social")["metadata"].update(namespace="default")),
    ],
    "no secrets": [
        ("a secret", added("Secret", "a", "v1", {"stringData": {"password": "x"}})),
        ("a password", environment("social", lambda it: it.append({"name": "API_PASSWORD", "value": "x"}))),
        (
            "in a URL",
            environment(
                "social", lambda it: it.append({"name": "A_URL", "value": "amqp://me:pass@rabbitmq"})
            ),
        ),
    ],
    "probes": [
        ("no liveness", container("social", lambda it: it.pop("livenessProbe"))),
        ("no readiness", container("social", lambda it: it.pop("readinessProbe"))),
        ("no startup", container("social", lambda it: it.pop("startupProbe"))),
        (
            "ready when alive",
            container("social", lambda it: it["readinessProbe"]["httpGet"].update(path="/health/live")),
        ),
    ],
    "liveness": [
        (
            "asks all",
            container("social", lambda it: it["livenessProbe"]["httpGet"].update(path="/health/ready")),
        ),
        (
            "asks the broker",
            container("social", lambda it: it.update(livenessProbe={"tcpSocket": {"port": 5672}})),
        ),
        (
            "a command",
            container("social", lambda it: it.update(livenessProbe={"exec": {"command": ["true"]}})),
        ),
    ],
    "shutdown": [
        ("hurried", pod("social", lambda it: it.update(terminationGracePeriodSeconds=40))),
        ("long drain", setting("SHUTDOWN_GRACE_SECONDS", "150")),
    ],
    "disruption": [
        ("no budget", without("PodDisruptionBudget", "social")),
        ("none of the broker", without("PodDisruptionBudget", "rabbitmq")),
        ("all at once", spec("PodDisruptionBudget", "social", lambda it: it.update(maxUnavailable="100%"))),
    ],
    "autoscaling": [
        ("not scaled", without("ScaledObject", "monitor")),
        ("a queue forgotten", spec("ScaledObject", "monitor", lambda it: it["triggers"].pop(0))),
        ("to zero", spec("ScaledObject", "social", lambda it: it.update(minReplicaCount=0))),
        (
            "by rate",
            spec(
                "ScaledObject", "social", lambda it: it["triggers"][0]["metadata"].update(mode="MessageRate")
            ),
        ),
        (
            "over AMQP",
            spec("ScaledObject", "social", lambda it: it["triggers"][0]["metadata"].update(protocol="amqp")),
        ),
        ("a service gone", without("Deployment", "social")),
        ("not by CPU", spec("ScaledObject", "social", lambda it: it["triggers"].pop())),
    ],
    "one autoscaler": [
        ("beside it", added("HorizontalPodAutoscaler", "social", "autoscaling/v2", {"spec": {}})),
        ("fixed", spec("Deployment", "social", lambda it: it.update(replicas=2))),
    ],
    "connections": [
        ("too many", setting("DATABASE_CONNECTIONS", "50")),
        (
            "no room",
            spec(
                "Cluster",
                "postgres",
                lambda it: it["postgresql"]["parameters"].update(max_connections="400"),
            ),
        ),
        (
            "too few for a role",
            spec("Cluster", "postgres", lambda it: it["managed"]["roles"][1].update(connectionLimit=60)),
        ),
        (
            "a role without a limit",
            spec("Cluster", "postgres", lambda it: it["managed"]["roles"][1].pop("connectionLimit")),
        ),
    ],
    "durability": [
        ("one node", spec("RabbitmqCluster", "rabbitmq", lambda it: it.update(replicas=1))),
        ("an even number", spec("RabbitmqCluster", "rabbitmq", lambda it: it.update(replicas=4))),
        ("no standby", spec("Cluster", "postgres", lambda it: it.update(instances=1))),
        ("asynchronous", spec("Cluster", "postgres", lambda it: it["postgresql"].pop("synchronous"))),
        ("deleted", spec("Queue", "orchestrator-events", lambda it: it.update(deletionPolicy="delete"))),
    ],
    "default deny": [
        ("gone", without("NetworkPolicy", "default-deny")),
        (
            "one direction",
            spec("NetworkPolicy", "default-deny", lambda it: it.update(policyTypes=["Ingress"])),
        ),
    ],
    "narrow": [
        ("every port", policy("social", "ingress", {"from": [SOCIAL]})),
        ("everybody", policy("social", "ingress", {"ports": [{"port": 8013}]})),
        (
            "empty selector",
            policy("social", "ingress", {"from": [{"podSelector": {}}], "ports": [{"port": 8013}]}),
        ),
        ("the internet", policy("social", "egress", {"to": [ANYWHERE], "ports": [{"port": 80}]})),
        *(
            (f"{name} to every address", spec("NetworkPolicy", name, first_address(cidr)))
            for name in ("rabbitmq-to-api-server", "postgres-to-api-server", "postgres-to-backup-store")
            for cidr in ("0.0.0.0/0", "128.0.0.0/1", "::/0")
        ),
        (
            "what is private, by the door",
            spec("NetworkPolicy", "gateway", lambda it: it["egress"][0]["to"][0]["ipBlock"]["except"].pop(1)),
        ),
        (
            "another port of the internet",
            spec("NetworkPolicy", "gateway", lambda it: it["egress"][0]["ports"].append({"port": 25})),
        ),
    ],
    "reachability": [
        (
            "neighbours",
            together(
                policy("research", "ingress", {"from": [SOCIAL], "ports": [{"port": 8011}]}),
                policy("social", "egress", {"to": [RESEARCH], "ports": [{"port": 8011}]}),
            ),
        ),
        ("no way to the database", without("NetworkPolicy", "services-to-postgres")),
        ("no way to research", spec("NetworkPolicy", "orchestrator", lambda it: it["egress"].clear())),
        ("no scraping", without("NetworkPolicy", "from-prometheus")),
        ("no alerts", without("NetworkPolicy", "monitor-to-alerts")),
        ("a way to no Prometheus", setting("PROMETHEUS_URL", "")),
        ("Alertmanager elsewhere", setting("ALERTMANAGER_URL", "http://alertmanager.observability:9093")),
        ("no DNS", without("NetworkPolicy", "dns")),
        ("no way out", spec("NetworkPolicy", "gateway", lambda it: it.pop("egress"))),
        *(
            (f"{name} past the door", policy(name, "egress", {"to": [PUBLIC], "ports": [{"port": 443}]}))
            for name in ("orchestrator", "research", "publisher", "social", "monitor")
        ),
        *(
            (f"no {name}", without("NetworkPolicy", name))
            for name in ("rabbitmq-to-api-server", "postgres-to-api-server", "postgres-to-backup-store")
        ),
        (
            "the broker to the store",
            policy("rabbitmq", "egress", {"to": [STORE], "ports": [{"port": 443}]}),
        ),
        (
            "a service to the API server",
            policy("social", "egress", {"to": [API_SERVER], "ports": [{"port": 6443}]}),
        ),
        (
            "a store at another port",
            spec(
                "ObjectStore",
                "backups",
                lambda it: it["configuration"].update(endpointURL="http://minio.example.com:9000"),
            ),
        ),
        (
            "messages for the gateway",
            spec(
                "NetworkPolicy", "services-to-rabbitmq", lambda it: it["podSelector"].pop("matchExpressions")
            ),
        ),
        (
            "another namespace",
            policy(
                "services-to-rabbitmq",
                "egress",
                {
                    "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "a"}}}],
                    "ports": [{"port": 1}],
                },
            ),
        ),
    ],
    "encryption": [
        ("the broker in the clear", setting("BROKER_SCHEME", "amqp")),
        ("whoever answers", setting("BROKER_OPTIONS", "?no_verify_ssl=1")),
        ("an authority that is not there", setting("BROKER_OPTIONS", "?cafile=/etc/ca.crt")),
        ("no certificate", spec("RabbitmqCluster", "rabbitmq", lambda it: it.pop("tls"))),
        ("for another name", spec("Certificate", "rabbitmq", lambda it: it["dnsNames"].pop())),
        (
            "the operator elsewhere",
            metadata(
                "RabbitmqCluster",
                "rabbitmq",
                lambda it: it["annotations"].update({encryption.OPERATOR_URI: "http://rabbitmq.a.svc:15672"}),
            ),
        ),
        (
            "the autoscaler in the clear",
            spec("TriggerAuthentication", "keda-broker", lambda it: it["secretTargetRef"].pop()),
        ),
        ("the database unseen", variable("social", "PGSSLMODE", lambda it: it.update(value="require"))),
        (
            "of a migration",
            container("migrate-social", lambda it: it["volumeMounts"].pop(0), kind="Job"),
        ),
    ],
    "ingress": [
        ("the page about the API", ingress_path(lambda it: it.update(path="/docs"))),
        ("for any controller", spec("Ingress", "sites", lambda it: it.pop("ingressClassName"))),
        ("certified by nobody", metadata("Ingress", "sites", lambda it: it.pop("annotations"))),
        (
            "the whole API",
            ingress_path(lambda it: it["backend"]["service"].update(name="orchestrator")),
        ),
        ("all paths", ingress_path(lambda it: it.update(pathType="Prefix"))),
        ("figures", ingress_path(lambda it: it.update(path="/metrics"))),
        ("health", ingress_path(lambda it: it.update(path="/health", pathType="Prefix"))),
        ("research", ingress_path(lambda it: it["backend"]["service"].update(name="research"))),
        ("default backend", spec("Ingress", "sites", lambda it: it.update(defaultBackend={}))),
        *(
            (f"without {prefix}", spec("Ingress", "sites", without_path(prefix)))
            for prefix in ("/s/", "/preview/", "/sites", "/robots.txt", "/assets")
        ),
        ("a path without a page", ingress_path(lambda it: it.update(path="/shop"))),
        ("every path of every host", spec("Ingress", "sites", own_host("*.example.com"))),
        ("every path of the public host", spec("Ingress", "sites", own_host("sites.example.com"))),
        ("every path of the API", spec("Ingress", "sites", own_host("blog.example.com", "orchestrator"))),
        ("another name", spec("Ingress", "sites", lambda it: it["rules"][0].update(host="a.example.com"))),
        ("no certificate", spec("Ingress", "sites", lambda it: it.pop("tls"))),
        ("the console at any host", spec("Ingress", "console", lambda it: it["rules"][0].pop("host"))),
        ("the console at another host", spec("Ingress", "sites", own_host("blog.example.com", "console"))),
        ("the console has moved", setting("CONSOLE_URL", "https://people.example.com")),
        ("the console without a certificate", spec("Ingress", "console", lambda it: it.pop("tls"))),
    ],
    "references": [
        ("no such port", ingress_path(lambda it: it["backend"]["service"]["port"].update(name="https"))),
        ("no documents", without("PersistentVolumeClaim", "corpus")),
        ("no volume", pod("social", lambda it: it["volumes"].clear())),
        ("no authentication", without("TriggerAuthentication", "keda-broker")),
        ("no user", without("User", "social")),
        (
            "no such secret",
            variable("publisher", "SERVICE_KEY", lambda it: it["valueFrom"]["secretKeyRef"].update(name="a")),
        ),
        ("no cluster", without("Cluster", "postgres")),
        ("no store for backups", without("ObjectStore", "backups")),
        ("no class", without("PriorityClass", "brand-engine-services")),
        ("no issuer", without("Issuer", "authority")),
        (
            "a whole secret",
            pod("social", lambda it: it["volumes"][0]["secret"].pop("items")),
        ),
    ],
    "selectors": [
        (
            "nobody",
            spec("Service", "social", lambda it: it["selector"].update({"app.kubernetes.io/name": "a"})),
        ),
        ("no such port", spec("Service", "social", lambda it: it["ports"][0].update(targetPort="https"))),
        (
            "not its own pods",
            spec(
                "Deployment",
                "social",
                lambda it: it["selector"]["matchLabels"].update({"app.kubernetes.io/name": "a"}),
            ),
        ),
        (
            "monitors nothing",
            spec("ServiceMonitor", "services", lambda it: it["selector"]["matchLabels"].update({"a": "b"})),
        ),
    ],
    "scraped": [("passed over", metadata("PodMonitor", "postgres", lambda it: it.pop("labels")))],
    "priorities": [
        (
            "alike",
            spec("Cluster", "postgres", lambda it: it.update(priorityClassName="brand-engine-services")),
        ),
        ("below", without("PriorityClass", "brand-engine-servers")),
    ],
    "ports": [
        ("another one", variable("social", "HTTP_PORT", lambda it: it.update(value="8080"))),
        ("loopback", setting("HTTP_HOST", "127.0.0.1")),
    ],
    "variables": [
        ("too late", environment("social", lambda it: it.reverse())),
        ("unknown", environment("social", lambda it: it.append({"name": "A", "value": "$(B)"}))),
        ("links", pod("social", lambda it: it.pop("enableServiceLinks"))),
    ],
    "images": [
        ("latest", container("social", lambda it: it.update(image="brand-engine/social:latest"))),
        ("none", container("social", lambda it: it.update(image="brand-engine/social"))),
        ("mixed", container("social", lambda it: it.update(image="brand-engine/social:0.0.9"))),
    ],
    "jobs": [
        ("gone", without("Job", "migrate-social")),
        ("another", container("migrate-social", lambda it: it.update(command=["python"]), kind="Job")),
        ("for ever", spec("Job", "migrate-social", lambda it: it.pop("backoffLimit"))),
        (
            "in vain again and again",
            spec("Job", "migrate-social", lambda it: it["podFailurePolicy"]["rules"].pop(0)),
        ),
        ("without its log", pod("migrate-social", lambda it: it.update(restartPolicy="OnFailure"), "Job")),
    ],
    "releases": [
        ("one name for all", metadata("Job", "migrate-social", lambda it: it.update(name="migrate-social"))),
        ("kept for ever", spec("Job", "migrate-social", lambda it: it.pop("ttlSecondsAfterFinished"))),
    ],
    "order": [
        ("scaled before it is there", annotated("ScaledObject", "social", "sync-wave", "0")),
        ("an ingress first", metadata("Ingress", "sites", lambda it: it.pop("annotations"))),
        ("a claim before its pods", annotated("PersistentVolumeClaim", "corpus", "sync-wave", "-2")),
        ("topology before the broker", annotated("Queue", "monitor-commands", "sync-wave", "-3")),
        ("a migration among services", annotated("Job", "migrate-social", "sync-wave", "2")),
        ("a kind of no wave", added("Gadget", "a", "example.com/v1", {})),
        ("data that go with the file", annotated("Cluster", "postgres", "sync-options", "Prune=true")),
    ],
    "part": [
        (
            "of nothing",
            metadata("Binding", f"commands-to-{BOUND}", lambda it: it["labels"].clear()),
        )
    ],
    "drift": [
        ("nothing in", spec("NetworkPolicy", "social", lambda it: it.update(ingress=[]))),
        ("deep inside", container("social", lambda it: it.update(args=[]))),
    ],
}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("rule", "mutate"),
    [
        pytest.param(rule, mutate, id=f"{rule}-{title}")
        for rule, mutations in MUTATIONS.items()
        for title, mutate in mutations
    ],
)
def test_a_rule_notices_what_it_is_there_for(overlay, rule: str, mutate: Mutation) -> None:
    resources = overlay("prod")
    mutate(resources)
    found = list(policies.POLICIES[rule](Cluster("prod", resources)))
    assert found, f"nothing was noticed by {rule}"


def test_every_rule_has_something_that_breaks_it() -> None:
    assert MUTATIONS.keys() == policies.POLICIES.keys()
