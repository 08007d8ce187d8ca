"""The Kubernetes manifests, as `kubectl kustomize` renders them.

On a machine without kubectl the files are validated as they are written: overlays are not rendered, and the checks that
need what `every/` lays over all of them are skipped.
"""

import copy
import importlib
import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest

from contracts.topology import SERVICES
from deploy.handout import hand_out
from services.delivery.config import LONGEST_CALL_SECONDS
from shared import bus
from shared.bus import connection
from shared.config import BusConfig, load
from tests.deploy import manifests
from tests.deploy.manifests import FOLDERS, ROOT, environment, mounted_secrets, of_kind, pod_of

needs_kubectl = pytest.mark.skipif(not manifests.HAS_KUBECTL, reason="kubectl is not installed: nothing is rendered")

VERSIONS = ("1.29.0", kubernetes_validate.latest_version())
DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(BusConfig)}
HTTP_STOP_SECONDS = 5.0
"""What `shared.runtime` gives requests in hand."""
SECRETS = "/run/secrets/chancela/"
OWN_FILES = "/etc/chancela/"
WITH_HTTP = {"ingest", "approval", "guardrails"}
EVERYBODY = {"kube-system", "nats", "postgres"}
REACHED = {
    "ingest": EVERYBODY,
    "conversador": EVERYBODY | {"models"},
    "guardrails": EVERYBODY | {"models", "identity"},
    "approval": EVERYBODY | {"identity"},
    "delivery": EVERYBODY | {"channels"},
    "operator": EVERYBODY | {"models"},
}


def config_of(service: str) -> Any:
    return importlib.import_module(f"services.{service}.config").Config


def workloads() -> dict[str, manifests.Object]:
    return of_kind("Deployment") | of_kind("Job", "migrate")


def documented_secrets() -> dict[str, set[str]]:
    """The table of k8s/base/README.md: name of the secret → its keys."""
    text = (ROOT / "k8s/base/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(chancela-[a-z-]+)` \| (.+?) \|", text, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", keys)) for name, keys in rows}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_object_is_valid_and_has_no_unknown_field(folder: str, version: str) -> None:
    found = manifests.objects(folder)
    assert found
    for one in found:
        kubernetes_validate.validate(one, version, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_refused() -> None:
    wrong = copy.deepcopy(of_kind("NetworkPolicy")["default-deny"])
    wrong["spec"]["podSelectors"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


def test_there_is_one_deployment_for_each_service_and_no_secret_in_the_manifests() -> None:
    assert of_kind("Deployment").keys() == set(SERVICES)
    assert not [one for folder in FOLDERS for one in manifests.objects(folder) if one["kind"] == "Secret"]
    assert "secretGenerator" not in "".join(file.read_text() for file in (ROOT / "k8s").rglob("kustomization.yaml"))


@needs_kubectl
def test_every_pod_meets_the_restricted_standard() -> None:
    for name, workload in workloads().items():
        assert manifests.why_not_restricted(workload) == [], name


@needs_kubectl
@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("securityContext", "runAsNonRoot"), False, "runs as root"),
        (("securityContext", "runAsUser"), 0, "has no numeric user"),
        (("container", "securityContext", "privileged"), True, "may gain privileges"),
        (
            ("container", "securityContext", "capabilities"),
            {"drop": ["ALL"], "add": ["SYS_ADMIN"]},
            "keeps capabilities",
        ),
        (("hostPID",), True, "shares the host"),
        (("volumes",), [{"name": "node", "hostPath": {"path": "/"}}], "mounts the host"),
    ],
)
def test_a_pod_that_is_not_restricted_is_told_why(path: tuple[str, ...], value: Any, said: str) -> None:
    weakened = manifests.changed(of_kind("Deployment")["ingest"], *path, to=value)
    assert manifests.why_not_restricted(weakened) == [said]


@needs_kubectl
def test_every_pod_has_bounded_memory_and_a_sized_tmp() -> None:
    for name, workload in workloads().items():
        (container,) = pod_of(workload)["spec"]["containers"]
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name
        assert "memory" in container["resources"]["limits"], name
        mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
        (tmp,) = [volume for volume in pod_of(workload)["spec"]["volumes"] if volume["name"] == mounts["/tmp"]]
        assert tmp["emptyDir"]["sizeLimit"], name


@needs_kubectl
def test_a_rollout_never_has_fewer_pods_and_a_drain_takes_one_at_a_time() -> None:
    budgets = of_kind("PodDisruptionBudget")
    for service, deployment in of_kind("Deployment").items():
        assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
        assert budgets[service]["spec"]["maxUnavailable"] == 1
        assert manifests.selects(budgets[service]["spec"]["selector"], pod_of(deployment)["metadata"]["labels"])


@needs_kubectl
def test_the_grace_outlasts_a_drain_an_ack_wait_and_a_call_to_a_channel() -> None:
    streams = json.loads((ROOT / "deploy/nats/streams.json").read_text())
    ack_waits = [consumer["ack_wait"] / 1e9 for consumer in streams["consumers"]]
    drain = HTTP_STOP_SECONDS + bus.WORK_DRAIN_SECONDS + connection.ACK_SECONDS
    needed = max(drain, *ack_waits, LONGEST_CALL_SECONDS + 10)
    for service, deployment in of_kind("Deployment").items():
        assert pod_of(deployment)["spec"]["terminationGracePeriodSeconds"] >= needed, service


@needs_kubectl
def test_ports_and_probes_are_those_of_the_configuration() -> None:
    for service, deployment in of_kind("Deployment").items():
        (container,) = pod_of(deployment)["spec"]["containers"]
        http = {"http": DEFAULTS["http_port"]} if service in WITH_HTTP else {}
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert ports == http | {"health": DEFAULTS["health_port"], "metrics": DEFAULTS["metrics_port"]}
        for probe, path in (("startup", "/startupz"), ("readiness", "/readyz"), ("liveness", "/livez")):
            assert container[f"{probe}Probe"]["httpGet"] == {"path": path, "port": "health"}
        assert container["args"] == ["serve", service]


@needs_kubectl
def test_a_service_sends_to_pods_of_its_own_name_and_to_ports_that_they_have() -> None:
    for name, service in of_kind("Service").items():
        template = pod_of(of_kind("Deployment")[name])
        ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
        assert service["spec"]["selector"] == {"app.kubernetes.io/name": name}
        assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        assert {port["targetPort"] for port in service["spec"]["ports"]} == ports - {"health"}


@needs_kubectl
def test_each_service_reaches_what_it_must_and_only_delivery_reaches_channels() -> None:
    policies = of_kind("NetworkPolicy").values()
    reached = {
        service: manifests.namespaces_reached(pod_of(deployment)["metadata"]["labels"], policies)
        for service, deployment in of_kind("Deployment").items()
    }
    assert reached == REACHED


@needs_kubectl
def test_a_setup_job_reaches_database_and_bus_only() -> None:
    policies = of_kind("NetworkPolicy").values()
    for name, job in of_kind("Job", "migrate").items():
        assert manifests.namespaces_reached(pod_of(job)["metadata"]["labels"], policies) == EVERYBODY, name


def test_nothing_is_let_in_or_out_that_no_policy_names() -> None:
    policies = of_kind("NetworkPolicy")
    assert policies["default-deny"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for name, policy in policies.items():
        for rule in [*policy["spec"].get("ingress", []), *policy["spec"].get("egress", [])]:
            peers = rule.get("from", rule.get("to"))
            assert rule["ports"], name
            assert peers, f"{name} names nobody, which means everybody"
            assert all(peer["namespaceSelector"]["matchLabels"] for peer in peers), name


@needs_kubectl
@pytest.mark.parametrize("folder", ["base", "overlays/dev"])
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_starts_with_its_settings_and_handed_out_secrets(service: str, folder: str, tmp_path: Path) -> None:
    hand_out(tmp_path, host="db", database="chancela")
    own = tmp_path / "for" / service
    for key in documented_secrets()[f"chancela-{service}"] - {file.name for file in own.iterdir()}:
        (own / key).write_text("given by whoever runs it")
    deployment = of_kind("Deployment", folder)[service]
    told = {name: value.replace(SECRETS, f"{own}/") for name, value in environment(deployment, folder).items()}
    settings = load(config_of(service), told)
    assert f"{service}_bus:" in settings.database_url


@needs_kubectl
@pytest.mark.parametrize("service", SERVICES)
def test_every_variable_is_a_setting_and_every_file_is_mounted(service: str) -> None:
    fields = {field.name for field in msgspec.structs.fields(config_of(service))}
    deployment = of_kind("Deployment")[service]
    told = environment(deployment)
    for name in told:
        setting = name.removeprefix("CHANCELA_").lower()
        assert {setting, setting.removesuffix("_file")} & fields, f"{name} is no setting of {service}"
    files = {value for value in told.values() if value.startswith(OWN_FILES)}
    volumes = {volume["name"]: volume for volume in pod_of(deployment)["spec"]["volumes"]}
    held: dict[str, str] = (
        of_kind("ConfigMap")[volumes["files"]["configMap"]["name"]]["data"] if "files" in volumes else {}
    )
    assert files == {OWN_FILES + name for name in held}


@needs_kubectl
def test_every_mounted_secret_is_documented_with_the_keys_that_are_read_from_it() -> None:
    documented = documented_secrets()
    mounted = {name: workload for workload in workloads().values() for name in mounted_secrets(workload)}
    assert mounted.keys() == documented.keys()
    for name, workload in mounted.items():
        read = {value.removeprefix(SECRETS) for value in environment(workload).values() if value.startswith(SECRETS)}
        assert read <= documented[name], name


def test_what_is_handed_out_is_what_the_readme_says(tmp_path: Path) -> None:
    hand_out(tmp_path, host="db", database="chancela")
    given = {
        f"chancela-{folder.name}": {file.name for file in folder.iterdir()}
        for folder in (tmp_path / "for").iterdir()
        if folder.name not in ("postgres", "nats")
    }
    for name in ("chancela-conversador", "chancela-operator", "chancela-guardrails"):
        given[name].add("model_api_key")
    assert documented_secrets() == given
