"""A laptop's installation: ports, the demo tenant, and the environment of each process. Pure but for writing files."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from contracts.topology import SERVICES
from deploy.keys import read_key

TENANT = UUID("5a0c0de0-0000-4000-8000-000000000001")
CHANNEL = UUID("5a0c0de0-0000-4000-8000-0000000000c1")
CHANNEL_SLUG = "atendimento"
SESSION = "atendimento"
DATABASE = "chancela"
PORTS_FILE = "ports.json"
HOUSE = "Clínica Sol"

PEOPLE = (
    {
        "email": "maria@clinica.example",
        "name": "Maria Souza",
        "roles": ["approver", "administrator"],
        "language": "pt-BR",
    },
    {"email": "john@clinica.example", "name": "John Reis", "roles": ["approver"], "language": "en"},
    {"email": "vera@clinica.example", "name": "Vera Lima", "roles": ["viewer"], "language": "pt-BR"},
)
RULES: Mapping[str, Any] = {
    "promise_table": {
        "type": "promise_table",
        "version": 1,
        "price_floor_cents": 5000,
        "discount_ceiling_percent": 10,
        "instalments_ceiling": 6,
    },
    "disclosures": {
        "pt-BR": f"Olá! Aqui é a assistente virtual da {HOUSE}.",
        "en": f"Hello! This is the virtual assistant of {HOUSE}.",
        "es": f"¡Hola! Soy la asistente virtual de {HOUSE}.",
    },
    "people": ["Maria", "John"],
}


@dataclass(frozen=True)
class Ports:
    """Where everything listens on loopback. approval has an origin of its own: 127.0.0.1, the rest is `localhost`."""

    approval: int = 8080
    ingest: int = 8090
    phone: int = 8091
    model: int = 8092
    gates: int = 8093
    health: Mapping[str, int] = field(
        default_factory=lambda: {service: 8101 + index for index, service in enumerate(SERVICES)}
    )

    @classmethod
    def of(cls, home: Path) -> "Ports":
        """The ports that an installation last started with; the usual ones where it never did."""
        file = home / "config" / PORTS_FILE
        return msgspec.json.decode(file.read_bytes(), type=cls) if file.exists() else cls()

    def named(self) -> dict[str, int]:
        flat = {
            "approval": self.approval,
            "ingest": self.ingest,
            "phone": self.phone,
            "model": self.model,
            "gates": self.gates,
        }
        return flat | {f"health of {service}": port for service, port in self.health.items()}


@dataclass(frozen=True)
class Layout:
    """One installation's folder and addresses."""

    home: Path
    ports: Ports = field(default_factory=Ports)
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Extra environment by service, or for all under `*`."""
    rules: Mapping[str, Any] = field(default_factory=lambda: RULES)
    number_activated_at: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    number_daily_cap: int = 300
    extra_channels: tuple[Mapping[str, Any], ...] = ()
    """More ingest channels (demo webhooks signed with keys of their own)."""

    @property
    def keys(self) -> Path:
        return self.home / "keys"

    @property
    def config(self) -> Path:
        return self.home / "config"

    @property
    def approval_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.approval}"

    @property
    def ingest_url(self) -> str:
        return f"http://localhost:{self.ports.ingest}"

    @property
    def phone_url(self) -> str:
        return f"http://localhost:{self.ports.phone}"

    @property
    def gates_url(self) -> str:
        return f"http://localhost:{self.ports.gates}/gates"

    @property
    def webhook_url(self) -> str:
        return f"{self.ingest_url}/webhooks/waha/{CHANNEL_SLUG}"

    def write_files(self) -> None:
        """The files that services read at start; regenerated each time, they hold nothing that people change."""
        self.config.mkdir(parents=True, exist_ok=True)
        self._write(PORTS_FILE, self.ports)
        channel = {"channel_id": str(CHANNEL), "tenant": str(TENANT), "kind": "waha"}
        ingest = {
            **channel,
            "slug": CHANNEL_SLUG,
            "session": SESSION,
            "name": HOUSE,
            "hmac_key_file": str(self.keys / "waha.hmac"),
        }
        self._write("ingest.channels.json", [ingest, *self.extra_channels])
        number = {"activated_at": self.number_activated_at.isoformat(), "daily_cap": self.number_daily_cap}
        self._write("guardrails.channels.json", [{**channel, **number}])
        sender = {
            **channel,
            "account": SESSION,
            "base_url": self.phone_url,
            "api_key_file": str(self.keys / "waha.api"),
        }
        self._write("delivery.channels.json", [sender])
        self._write("guardrails.rules.json", [{"tenant": str(TENANT), "rules": self.rules}])
        for service in ("approval", "guardrails"):
            self._write(f"{service}.people.json", [{**person, "tenant": str(TENANT)} for person in PEOPLE])

    def _write(self, name: str, content: Any) -> None:
        (self.config / name).write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2))

    def environment(self, service: str, *, database_url: str, web_url: str, nats_url: str) -> dict[str, str]:
        """Everything that a service's process is told."""
        common = {
            "DATABASE_URL": database_url,
            "DATABASE_WEB_URL": web_url,
            "NATS_URL": nats_url,
            "NATS_SEED_FILE": str(self.keys / f"{service}.nk"),
            "DIGEST_KEY_FILE": str(self.keys / f"{service}.digest"),
            "HEALTH_HOST": "127.0.0.1",
            "HEALTH_PORT": str(self.ports.health[service]),
            "METRICS_PORT": str(self.ports.health[service]),
        }
        own = {**common, **self._own(service), **self.overrides.get("*", {}), **self.overrides.get(service, {})}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CHANCELA_")}
        return inherited | {f"CHANCELA_{name}": value for name, value in own.items()}

    def _own(self, service: str) -> dict[str, str]:
        config, keys = self.config, self.keys
        model = {
            "MODEL_BASE_URL": os.environ.get("OPENAI_BASE_URL") or f"http://127.0.0.1:{self.ports.model}/v1",
            "MODEL_API_KEY": os.environ.get("OPENAI_API_KEY") or "local",
            "MODEL_NAME": os.environ.get("OPENAI_MODEL") or "chancela-local",
        }
        settings: dict[str, dict[str, str]] = {
            "ingest": {
                "HTTP_HOST": "127.0.0.1",
                "HTTP_PORT": str(self.ports.ingest),
                "CHANNELS_FILE": str(config / "ingest.channels.json"),
            },
            "conversador": {
                **model,
                "BURST_DEBOUNCE_SECONDS": "0.6",
                "HOUSE_NAME": HOUSE,
                "KNOWLEDGE_FILE": str(_knowledge()),
                "KNOWLEDGE_TENANT": str(TENANT),
            },
            "guardrails": {
                "HTTP_HOST": "127.0.0.1",
                "HTTP_PORT": str(self.ports.gates),
                "PROFILE": "local",
                "LOCAL_SIGN_IN": "true",
                "PEOPLE_FILE": str(config / "guardrails.people.json"),
                "SEAL_KEY_FILE": str(keys / "guardrails.seal"),
                "CHANNELS_FILE": str(config / "guardrails.channels.json"),
                "RULES_FILE": str(config / "guardrails.rules.json"),
                **_classifier(model),
            },
            "approval": {
                "HTTP_HOST": "127.0.0.1",
                "HTTP_PORT": str(self.ports.approval),
                "SEAL_KEY_FILE": str(keys / "approval.seal"),
                "PROFILE": "local",
                "LOCAL_SIGN_IN": "true",
                "PEOPLE_FILE": str(config / "approval.people.json"),
                "PHONE_URL": self.phone_url,
            },
            "delivery": {
                "SEAL_KEY_FILE": str(keys / "delivery.seal"),
                "SEAL_RING_FILE": str(keys / "seal-ring.json"),
                "CHANNELS_FILE": str(config / "delivery.channels.json"),
            },
            "operator": model,
        }
        return settings[service]

    def phone_arguments(self) -> list[str]:
        return [
            "--port",
            str(self.ports.phone),
            "--webhook",
            self.webhook_url,
            "--key",
            read_key(self.keys, "waha.hmac"),
            "--api-key",
            read_key(self.keys, "waha.api"),
            "--session",
            SESSION,
            "--name",
            HOUSE,
            "--state",
            str(self.home / "phone.sqlite"),
            "--frame-ancestor",
            self.approval_url,
        ]


def _knowledge() -> Path:
    return Path(__file__).resolve().parents[2] / "services" / "conversador" / "demo_knowledge.json"


def _classifier(model: dict[str, str]) -> dict[str, str]:
    """A real model reads for promises, too; the local one would find none, and cost every draft a call."""
    if not os.environ.get("OPENAI_BASE_URL"):
        return {}
    names = {
        "MODEL_BASE_URL": "CLASSIFIER_BASE_URL",
        "MODEL_API_KEY": "CLASSIFIER_API_KEY",
        "MODEL_NAME": "CLASSIFIER_MODEL",
    }
    return {names[name]: value for name, value in model.items()}
