"""Attacks with each service's real credentials on the real server, operator first.

Afterwards every foreign stream holds exactly what its owners said, every foreign consumer stands where its owner left
it, and nobody has received anything that was not meant for them. The mutants show that the judge can say otherwise.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts import generate
from contracts.topology import SERVICES
from deploy.keys import public_nkeys
from deploy.local.bus import SERVER, server_config
from tests.rights.attacks import all_attacks, look_alike_acks, question_tricks, reply_tricks
from tests.rights.verdict import Attacks, Turn
from tests.rights.world import World, open_world
from tests.servers import NatsServerFactory

ATTACKERS = ("operator", *(one for one in SERVICES if one != "operator"))


@pytest.mark.parametrize("service", ATTACKERS)
async def test_a_service_taken_over_changes_and_hears_nothing_foreign(world: World, service: str) -> None:
    turn = Turn(world, service)
    assert await turn.damage(all_attacks) == []
    assert turn.tried > 1000


@pytest.mark.parametrize("identity", ["auditor", "admin"])
async def test_no_answer_to_a_question_becomes_a_message(world: World, identity: str) -> None:
    assert await Turn(world, identity).damage(question_tricks) == []


@pytest.mark.parametrize(("identity", "tricks"), [("operator", reply_tricks), ("auditor", question_tricks)])
async def test_in_one_account_a_reply_subject_puts_bytes_into_send(
    keys: Path, nats_server_factory: NatsServerFactory, identity: str, tricks: Attacks
) -> None:
    async with open_world(nats_server_factory(one_account_config(keys)), keys) as world:
        damage = await Turn(world, identity).damage(tricks)
    assert any(line.startswith("stream SEND: messages is") for line in damage)


async def test_with_open_ended_ack_subjects_a_foreign_message_is_stolen(
    keys: Path, nats_server_factory: NatsServerFactory
) -> None:
    loose = server_config(keys).replace(".*.*.*.*.*", ".>")
    async with open_world(nats_server_factory(loose), keys) as world:
        damage = await Turn(world, "operator").damage(look_alike_acks)
    assert any(line.startswith("stolen") and "secret of send.cmd" in line for line in damage)


def one_account_config(keys: Path) -> str:
    """The same permission lists, everybody in one account."""
    named = "\n".join(f"{name}: {value}" for name, value in public_nkeys(keys).items())
    system = "SYS { users: [ { nkey: $CHANCELA_NKEY_SYS } ] }"
    users = "\n".join(_users())
    accounts = f"accounts {{ {system}\nBUS {{ jetstream: enabled, users: [\n{users}\n] }} }}"
    return f"{named}\n{SERVER.format(sync_interval='10s')}\nsystem_account: SYS\n{accounts}"


def _users() -> Iterator[str]:
    listed = {
        "admin": ("$JS.API.>",),
        "auditor": generate.AUDITOR_RIGHTS,
        **{one: generate.rights(one) for one in SERVICES},
    }
    for identity, subjects in listed.items():
        allowed = ", ".join(f'"{subject}"' for subject in subjects)
        yield f"{{ nkey: $CHANCELA_NKEY_{identity.upper()}, permissions: {{"
        yield f'publish: {{ allow: [ {allowed} ] }}, subscribe: {{ allow: [ "_INBOX_{identity}.>" ] }} }} }}'
