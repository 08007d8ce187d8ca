"""`python -m tests.rights.echo_service`: a service on the operator's schema that says again what it hears, once."""

from uuid import UUID

from contracts import topology
from contracts.messages import ContactSeen, FactRecorded
from shared.bus import Effects, Handlers, Heard, Quick, no_facts
from shared.config import BusConfig
from shared.db import Write
from shared.runtime import Service, main


def echo(heard: Heard[ContactSeen], _facts: None) -> Effects:
    said = heard.message
    write = Write("insert into effect (lane, value) values ($1, $2)", (str(said.contact_id), said.name))
    fact = FactRecorded(
        tenant=said.tenant,
        fact_id=UUID(int=int(said.name)),
        contact_id=said.contact_id,
        kind="other",
        subject="echo",
        value=said.name,
        source="echo",
        observed_at=heard.now,
    )
    return Effects(writes=[write], says=[fact])


def handlers(_config: BusConfig) -> Handlers:
    others = {message for topic in topology.heard_by("operator") for message in topic.says} - {ContactSeen}
    return Handlers(quick=(Quick(ContactSeen, no_facts, echo),), ignores=tuple(others))


if __name__ == "__main__":
    main(Service("operator", BusConfig, handlers))
