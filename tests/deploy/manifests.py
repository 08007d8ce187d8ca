"""The Kubernetes manifests as objects: rendered where kubectl is installed, else the YAML files as they are written."""

import copy
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
K8S = ROOT / "k8s"
Object = dict[str, Any]
HAS_KUBECTL = shutil.which("kubectl") is not None
FOLDERS = ("base", "migrate", "overlays/dev")


@cache
def _rendered(folder: str) -> str:
    return subprocess.run(
        ["kubectl", "kustomize", str(K8S / folder)], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def rendered(folder: str) -> list[Object]:
    """What `kubectl apply -k` would send."""
    return [one for one in yaml.safe_load_all(_rendered(folder)) if one]


def written(folder: str) -> list[Object]:
    """The objects in a folder's files; neither kustomizations nor the patches laid over every object."""
    files = sorted((K8S / folder).rglob("*.yaml"))
    found = [one for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one]
    return [one for one in found if one["kind"] != "Kustomization" and one["metadata"]["name"] != "every"]


def objects(folder: str) -> list[Object]:
    return rendered(folder) if HAS_KUBECTL else written(folder)


def of_kind(kind: str, folder: str = "base") -> dict[str, Object]:
    """Name → object."""
    return {one["metadata"]["name"]: one for one in objects(folder) if one["kind"] == kind}


def pod_of(workload: Object) -> Object:
    return workload["spec"]["template"]


def environment(workload: Object, folder: str = "base") -> dict[str, str]:
    """Everything that a workload's only container is told."""
    maps = of_kind("ConfigMap", folder)
    (container,) = pod_of(workload)["spec"]["containers"]
    told: dict[str, str] = {}
    for source in container.get("envFrom", []):
        told |= maps[source["configMapRef"]["name"]]["data"]
    return told | {one["name"]: one["value"] for one in container.get("env", [])}


def mounted_secrets(workload: Object) -> Iterator[str]:
    for volume in pod_of(workload)["spec"]["volumes"]:
        if "secret" in volume:
            yield volume["secret"]["secretName"]


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return set(selector) <= {"matchLabels"} and selector.get("matchLabels", {}).items() <= labels.items()


def namespaces_reached(labels: Mapping[str, str], policies: Iterable[Object]) -> set[str]:
    """Namespaces that pods with these labels may open connections to; `*` when a rule names none."""
    rules = [
        rule
        for policy in policies
        if selects(policy["spec"]["podSelector"], labels)
        for rule in policy["spec"].get("egress", [])
    ]
    return {_namespace(peer) for rule in rules for peer in rule.get("to", [{}])}


def _namespace(peer: Mapping[str, Any]) -> str:
    named = peer.get("namespaceSelector", {}).get("matchLabels", {})
    return named.get("kubernetes.io/metadata.name", "*")


def changed(workload: Object, *path: str, to: Any) -> Object:
    """A copy with one field of its pod's spec, or with `container` first of its container, set to another value."""
    copied = copy.deepcopy(workload)
    place = pod_of(copied)["spec"]
    if path[0] == "container":
        (place,), path = place["containers"], path[1:]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return copied


def why_not_restricted(workload: Object) -> list[str]:
    """What the Pod Security standard `restricted`, and our own read-only root, would say."""
    pod = pod_of(workload)["spec"]
    (container,) = pod["containers"]
    own, shared = container["securityContext"], pod["securityContext"]
    kinds = {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
    laws = {
        "runs as root": shared.get("runAsNonRoot") is True and "runAsNonRoot" not in own,
        "has no numeric user": (shared.get("runAsUser"), shared.get("runAsGroup")) == (65532, 65532),
        "has no seccomp profile": shared.get("seccompProfile") == {"type": "RuntimeDefault"},
        "may gain privileges": own.get("allowPrivilegeEscalation") is False and not own.get("privileged"),
        "keeps capabilities": own.get("capabilities") == {"drop": ["ALL"]},
        "writes to its root": own.get("readOnlyRootFilesystem") is True,
        "shares the host": not any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")),
        "mounts the host": kinds <= {"configMap", "emptyDir", "secret", "projected"},
        "opens a host port": not any("hostPort" in port for port in container.get("ports", [])),
        "holds a token": pod.get("automountServiceAccountToken") is False,
    }
    return [law for law, holds in laws.items() if not holds]
