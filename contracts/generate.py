"""Everything that follows from the map, as text. `python -m contracts` writes it, `--check` says what is stale."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

import msgspec

from contracts import topology
from contracts.topology import SERVICES, STREAMS, TOPICS

NOTICE = "generated from contracts/topology.py by `python -m contracts`; do not edit"
DAY_SECONDS = 24 * 60 * 60
PULL_THRESHOLD = "2m"
"""How long a pull's answers may cross accounts; longer than any pull lives."""


def files() -> dict[str, str]:
    """Path in the project → content."""
    return {
        "deploy/nats/accounts.conf": nats_accounts(),
        "deploy/nats/streams.json": streams(),
        "deploy/postgres/roles.sql": postgres_roles(),
        "contracts/flows.md": flows(),
    }


# ------------------------------------------------------------------------------------------------------------- rights


def consumer_subjects(stream: str, durable: str) -> tuple[str, ...]:
    """What a hearer may publish to: ask for messages, acknowledge (both forms), read its own consumer's state.

    Token counts are exact: with `>` at the end, `$JS.ACK.*.*.INGEST.conversador.>` would also match
    `$JS.ACK.SEND.delivery.INGEST.conversador.1.1.1`, an acknowledgement of another service's consumer.
    """
    return (
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}",
        f"$JS.ACK.{stream}.{durable}.*.*.*.*.*",
        f"$JS.ACK.*.*.{stream}.{durable}.*.*.*.*.*",
        f"$JS.API.CONSUMER.INFO.{stream}.{durable}",
    )


AUDITOR_RIGHTS = (
    "$JS.API.STREAM.INFO.*",
    "$JS.API.CONSUMER.INFO.*.*",
    "$JS.API.STREAM.NAMES",
    "$JS.API.CONSUMER.NAMES.*",
)
ADMIN_RIGHTS = (
    *AUDITOR_RIGHTS,
    "$JS.API.STREAM.CREATE.*",
    "$JS.API.STREAM.UPDATE.*",
    "$JS.API.CONSUMER.DURABLE.CREATE.*.*",
    "$JS.API.CONSUMER.DELETE.*.*",
)
ADVISORIES = "$JS.EVENT.ADVISORY.>"


def rights(service: str) -> tuple[str, ...]:
    """Every subject that a service may publish to; it may subscribe to `_INBOX_<service>.>` and to nothing else."""
    roots = dict.fromkeys(_publish_root(topic) for topic in topology.said_by(service))
    heard = (
        subject
        for stream, durable, _ in topology.consumers()
        if durable == service
        for subject in consumer_subjects(stream, durable)
    )
    return (*roots, *heard)


def _publish_root(topic: topology.Topic) -> str:
    return f"{topic.root}.>" if topic.prefix else f"{topic.said_by}.>"


def nats_accounts() -> str:
    """One account an identity; JetStream lives in BUS, which has no user; rights are imports.

    Permission lists are the second lock. The admin and the auditor stand outside BUS too: whoever is inside can have
    the answer to any request delivered to any subject.
    """
    services = {service: rights(service) for service in SERVICES}
    identities = {"admin": ADMIN_RIGHTS, "auditor": AUDITOR_RIGHTS, **services}
    accounts = (line for identity, subjects in identities.items() for line in _account(identity, subjects))
    return "\n".join([f"# {NOTICE}", *_intro(), "accounts {", *_bus_account(identities), *accounts, "}", ""])


def _intro() -> Iterator[str]:
    yield "# Public keys come from the environment: CHANCELA_NKEY_ADMIN, _AUDITOR, _SYS and one per service."
    yield "# Permission lists inside one account do not hold: the server does not check the reply subject of a publish."
    yield "# admin: makes streams and consumers, reads no message. auditor: state and advisories, may write nothing."
    yield "system_account: SYS"


def _bus_account(identities: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield "  SYS { users: [ { nkey: $CHANCELA_NKEY_SYS } ] }"
    yield "  BUS {"
    yield "    jetstream: enabled"
    yield "    exports: ["
    for subject in dict.fromkeys(subject for subjects in identities.values() for subject in subjects):
        yield f"      {_export(subject, [one for one, subjects in identities.items() if subject in subjects])}"
    yield f'      {{ stream: "{ADVISORIES}", accounts: [ AUDITOR ] }}'
    yield "    ]"
    yield "  }"


def _export(subject: str, identities: Sequence[str]) -> str:
    streamed = f', response_type: stream, threshold: "{PULL_THRESHOLD}"' if ".MSG.NEXT." in subject else ""
    accounts = ", ".join(identity.upper() for identity in identities)
    return f'{{ service: "{subject}", accounts: [ {accounts} ]{streamed} }}'


def _account(identity: str, subjects: Sequence[str]) -> Iterator[str]:
    hears = [f"_INBOX_{identity}.>", *([ADVISORIES] if identity == "auditor" else [])]
    yield f"  {identity.upper()} {{"
    yield f"    users: [ {{ nkey: $CHANCELA_NKEY_{identity.upper()}, permissions: {{"
    yield f"        publish: {{ allow: [ {_quoted(map(_local, subjects))} ] }}"
    yield f"        subscribe: {{ allow: [ {_quoted(hears)} ] }} }} }} ]"
    mappings = ", ".join(_mapping(one) for one in subjects if _local(one) != one)
    yield f"    mappings: {{ {mappings} }}"
    yield "    imports: ["
    for subject in subjects:
        to = f', to: "{_local(subject)}"' if _local(subject) != subject else ""
        yield f'      {{ service: {{ account: BUS, subject: "{subject}" }}{to} }}'
    if identity == "auditor":
        yield f'      {{ stream: {{ account: BUS, subject: "{ADVISORIES}" }} }}'
    yield "    ]"
    yield "  }"


def _local(subject: str) -> str:
    """Name inside an account; the server checks rights on it, after mapping.

    `$JS.API.>` is answered in every account, so under its own name a question would get "JetStream not enabled" too.
    """
    is_question = subject.startswith("$JS.API.") and ".MSG.NEXT." not in subject
    return subject.replace("$JS.API.", "$JS.BUS.API.", 1) if is_question else subject


def _mapping(subject: str) -> str:
    position = count(1)
    target = re.sub(r"\*", lambda _: f"{{{{wildcard({next(position)})}}}}", _local(subject))
    return f'"{subject}": "{target}"'


def _quoted(subjects: Iterable[str]) -> str:
    return ", ".join(f'"{subject}"' for subject in subjects)


# ------------------------------------------------------------------------------------------------------------ streams


def streams() -> str:
    """Streams and durables as the setup job creates them (JSON of the JetStream API, times in nanoseconds)."""
    body = {
        "notice": NOTICE,
        "streams": [_stream(name) for name in STREAMS],
        "consumers": [_consumer(s, d, f) for s, d, f in topology.consumers()],
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2).decode() + "\n"


def _stream(name: str) -> dict[str, object]:
    subjects = [f"{topic.root}.*.*" for topic in TOPICS if topic.stream == name]
    return {
        "name": name,
        "subjects": subjects,
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_age": 14 * DAY_SECONDS * 10**9,
        "max_bytes": 4 * 1024**3,
        "max_msg_size": 256 * 1024,
        "duplicate_window": 5 * 60 * 10**9,
        "deny_delete": True,
        "deny_purge": True,
        "allow_rollup_hdrs": False,
        "allow_direct": False,
        "allow_msg_schedules": False,
        "num_replicas": 1,
    }


def _consumer(stream: str, durable: str, filters: tuple[str, ...]) -> dict[str, object]:
    return {
        "stream": stream,
        "durable_name": durable,
        "filter_subjects": list(filters),
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": topology.ACK_WAIT_SECONDS * 10**9,
        "max_deliver": -1,
        "max_ack_pending": 4096,
        "replay_policy": "instant",
    }


# ----------------------------------------------------------------------------------------------------------- Postgres


def postgres_roles() -> str:
    """Roles and schemas, idempotent, for a superuser in the database of Chancela. Passwords are set apart."""
    return "\n".join([f"-- {NOTICE}", *(line for service in SERVICES for line in _roles(service)), ""])


def _roles(service: str) -> Iterator[str]:
    owner, bus, web = (f"{service}_{kind}" for kind in ("owner", "bus", "web"))
    yield f"-- {service}: the owner migrates, bus sees all tenants' rows of this schema, web one tenant's"
    yield "do $$ begin"
    for role in (owner, bus, web):
        yield f"  if not exists (select from pg_roles where rolname = '{role}') then create role {role} login; end if;"
    yield "end $$;"
    yield f"create schema if not exists {service} authorization {owner};"
    yield f"revoke all on schema {service} from public;"
    for role in (owner, bus, web):
        yield f"alter role {role} set search_path = {service};"


def database_settings(database: str) -> str:
    """Nobody creates anything outside an own schema."""
    return f"revoke all on database {database} from public; revoke create on schema public from public;"


# ------------------------------------------------------------------------------------------------------------ picture


def flows() -> str:
    """Who says what to whom, one arrow a topic and hearer, as a table and a Mermaid diagram."""
    return "\n".join([f"<!-- {NOTICE} -->", "# Flows", "", *_table(), "", "```mermaid", *_diagram(), "```", ""])


def _table() -> Iterator[str]:
    yield "| topic | said by | ordered by | messages | heard by |"
    yield "| --- | --- | --- | --- | --- |"
    for topic in TOPICS:
        says = ", ".join(message.__name__ for message in topic.says)
        yield f"| `{topic.root}` | {topic.said_by} | {topic.key} | {says} | {', '.join(topic.heard_by)} |"


def _diagram() -> Iterator[str]:
    yield "flowchart LR"
    arrows: dict[tuple[str, str], list[str]] = {}
    for topic in TOPICS:
        for hearer in topic.heard_by:
            arrows.setdefault((topic.said_by, hearer), []).append(topic.root.removeprefix(f"{topic.said_by}."))
    for (said_by, hearer), names in arrows.items():
        yield f"  {said_by} -- {' · '.join(names)} --> {hearer}"
