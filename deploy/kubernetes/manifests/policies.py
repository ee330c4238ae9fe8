"""The project's own rules for its manifests, beyond schemas."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from manifests import alerting, availability, encryption, ingress, isolation, network, order, wiring
from manifests.cluster import Cluster

Policy = Callable[[Cluster], Iterator[str]]
"""Says what is wrong, a line each."""

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "restricted": isolation.pods_are_restricted,
        "read-only": isolation.own_images_cannot_be_written_to,
        "limits": isolation.containers_have_requests_and_limits,
        "guaranteed": isolation.servers_are_guaranteed_what_they_ask_for,
        "no token": isolation.no_pod_has_a_token,
        "namespace": isolation.the_namespace_enforces_what_the_pods_keep,
        "no secrets": isolation.no_secret_stands_in_the_manifests,
        "probes": availability.probes_are_there,
        "liveness": availability.liveness_never_asks_the_broker,
        "shutdown": availability.there_is_time_to_finish,
        "disruption": availability.one_pod_at_a_time_may_be_away,
        "autoscaling": availability.every_consumer_is_scaled_by_its_queues,
        "one autoscaler": availability.nothing_else_sets_the_number_of_replicas,
        "connections": availability.the_database_has_connections_for_all_replicas,
        "durability": availability.nothing_durable_stands_on_one_machine,
        "default deny": network.everything_is_denied_by_default,
        "narrow": network.every_rule_names_peers_and_ports,
        "reachability": network.only_what_is_needed_can_be_reached,
        "encryption": encryption.connections_are_encrypted_and_verified,
        "ingress": ingress.the_outside_sees_only_what_is_meant_for_it,
        "references": wiring.everything_referred_to_is_there,
        "selectors": wiring.selectors_select_what_they_should,
        "scraped": wiring.the_prometheus_operator_takes_what_it_is_for,
        "priorities": wiring.servers_outlive_services,
        "ports": wiring.services_listen_where_they_are_asked,
        "variables": wiring.variables_are_defined_before_they_are_used,
        "images": wiring.images_have_a_version,
        "jobs": wiring.every_service_has_its_migration,
        "releases": wiring.jobs_are_named_by_their_release,
        "order": order.everything_comes_in_its_wave,
        "part": order.apply_finds_everything,
        "drift": wiring.nothing_is_written_that_the_cluster_drops,
    }
)


OF_ALERTMANAGER: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "namespace": alerting.policies_are_in_one_namespace,
        "selectors": alerting.policies_select_alertmanager,
        "receivers": alerting.receivers_are_named,
        "reachability": alerting.nothing_else_can_be_reached,
        "order": order.everything_comes_in_its_wave,
        "part": order.apply_finds_everything,
    }
)
"""For an overlay that has nothing but the policies of Alertmanager."""


def policies_for(cluster: Cluster) -> Mapping[str, Policy]:
    """The rules that an overlay must keep."""
    return OF_ALERTMANAGER if alerting.concerns_alertmanager_alone(cluster) else POLICIES


def problems(cluster: Cluster) -> Iterator[str]:
    for name, policy in policies_for(cluster).items():
        yield from (f"{name}: {what}" for what in policy(cluster))
