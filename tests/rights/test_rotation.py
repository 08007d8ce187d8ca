"""Credentials exchanged and taken away while messages flow: nothing lost, nothing twice, nobody in who should be out.

Everything is done as deploy/runbooks/key-rotation.md says, on real servers with the deployed configuration.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from deploy.keys import create_keys, login_in_use, nats_users, public_key, read_key
from deploy.local.database import StillUsed
from deploy.rotate import RotationError, Step, rotate, what_next
from shared.bus.connection import Connection, Refused
from tests.harness import within
from tests.rights.installation import Installation, exit_code, installed, ready, under_load
from tests.rights.process import metrics, readiness
from tests.shared.world import until


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Installation]:
    async with installed(tmp_path) as installation:
        yield installation


def report(pause_seconds: float, messages: int) -> None:
    """For whoever runs this with `-s`; a time is never judged."""
    print(f"\n{messages} messages, longest pause between two echoes {pause_seconds:.2f} s")  # noqa: T201 - see above


async def spread(made: Installation) -> None:
    """What `what_next` tells a person to do after `admit` and after `retire`."""
    made.hand_out()
    await made.reload_nats()
    await made.make_roles()


async def enters_nats(made: Installation, seed: str) -> bool:
    connection = Connection(made.nats.url, seed, "operator")
    try:
        await within(connection.open(), 15)
    except Refused:
        return False
    finally:
        await connection.close()
    return True


async def enters_postgres(url: str) -> bool:
    try:
        await (await asyncpg.connect(url)).close()
    except asyncpg.InvalidAuthorizationSpecificationError:
        return False
    return True


# ------------------------------------------------------------------------------------------------------------ rotation


async def test_two_rotations_under_load_lose_nothing_and_double_nothing(made: Installation) -> None:
    """Twice: the second one brings the database back to its first login.

    In between, while old and new overlap, both servers cut everybody off: all come back, with the old and the new.
    """
    running = made.start_operator()
    await ready(running)
    async with under_load(made) as load:
        for login in ("operator_bus_second", "operator_bus"):
            await load.goes_on()
            old_seed, old_url = made.held("operator", "nats_seed"), made.held("operator", "database_url")
            rotate(made.keys, "operator", Step.ADMIT)
            await spread(made)
            rotate(made.keys, "operator", Step.SWITCH)
            await spread(made)  # more than a person is told to: at any time the folder says what is valid
            renewed = made.start_operator()
            await ready(renewed)
            await load.goes_on()
            assert await made.logins() == {"operator_bus", "operator_bus_second"}
            await cut_everybody_off(made)
            await load.goes_on()
            running.ask_to_stop()
            assert await exit_code(running) == 0, running.log_tail(40)
            rotate(made.keys, "operator", Step.RETIRE)
            await spread(made)
            await load.goes_on()
            assert await made.logins() == {login}
            assert not await enters_nats(made, old_seed)
            assert not await enters_postgres(old_url)
            running = renewed
        await load.end()
        report(await load.longest_pause_seconds(), load.count)
        assert load.count > 400
        assert await load.heard_by("operator") == load.said
        assert await load.heard_by("conversador") == load.said
    assert await made.sql("select 1 from operator.quarantine union all select 1 from conversador.quarantine") == []


async def cut_everybody_off(made: Installation) -> None:
    await made.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename like 'operator_bus%'")
    made.nats.kill()
    await asyncio.to_thread(made.nats.restart)


async def test_a_reload_cuts_nobody_off_whose_key_stays(made: Installation) -> None:
    running = made.start_operator()
    await ready(running)
    async with under_load(made) as load:
        await load.goes_on()
        for _ in range(5):
            await made.reload_nats()
        await load.goes_on()
        await load.end()
        report(await load.longest_pause_seconds(), load.count)
        assert await load.heard_by("conversador") == load.said
    assert "the connection to NATS is lost" not in running.command.log_file.read_text()


# ----------------------------------------------------------------------------------------- what the steps are there for


async def test_a_service_that_switches_before_the_servers_know_is_refused_and_says_what_to_check(
    made: Installation,
) -> None:
    """The step that this leaves out is what the load test relies on."""
    rotate(made.keys, "operator", Step.ADMIT, "nats")
    rotate(made.keys, "operator", Step.SWITCH, "nats")
    made.hand_out()
    hasty = made.start_operator()
    assert await exit_code(hasty) == 3
    assert "check CHANCELA_NATS_SEED" in hasty.log_tail()
    await made.reload_nats()
    await ready(made.start_operator())


async def test_a_password_changed_in_place_shuts_a_running_service_out(made: Installation) -> None:
    """Why a role has two logins: what it opened lives on, what it opens next is refused."""
    running = made.start_operator()
    await ready(running)
    await made.sql("alter role operator_bus password 'another'")
    assert await made.sql("select from pg_stat_activity where usename = 'operator_bus'")
    await made.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'operator_bus'")
    assert await exit_code(running) == 2
    assert "CHANCELA_DATABASE_URL" in running.log_tail()


async def test_a_login_that_is_still_used_is_not_retired_unless_its_users_are_to_be_cut_off(made: Installation) -> None:
    running = made.start_operator()
    await ready(running)
    for step in (Step.ADMIT, Step.SWITCH, Step.RETIRE):
        rotate(made.keys, "operator", step, "database")
        if step is Step.ADMIT:
            await made.make_roles()
    with pytest.raises(StillUsed, match=r"operator_bus is still used by \d+ sessions \(chancela-operator\)"):
        await made.make_roles()
    assert (await readiness(running))[0] == 200
    await made.make_roles(cut=True)
    assert await exit_code(running) == 2
    assert "CHANCELA_DATABASE_URL" in running.log_tail()
    made.hand_out()
    await ready(made.start_operator())


async def test_a_second_login_has_the_rights_of_its_role_and_no_more(made: Installation) -> None:
    rotate(made.keys, "operator", Step.ADMIT, "database")
    await made.make_roles()
    rotate(made.keys, "operator", Step.SWITCH, "database")
    for kind in ("bus", "web"):
        login = login_in_use(made.keys, f"operator_{kind}")
        visitor = await asyncpg.connect(f"postgresql://{login.name}:{login.password}@{made.place}/chancela")
        assert await visitor.fetchval("show search_path") == "operator"
        assert await visitor.fetchval("select count(*) from lead") == 0
        for forbidden in ("select from ingest.contact", "create table operator.evil ()", "set role operator_owner"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await visitor.execute(forbidden)
        await visitor.close()


async def test_a_page_on_a_second_login_sees_one_tenant(made: Installation) -> None:
    rotate(made.keys, "operator", Step.ADMIT, "database")
    await made.make_roles()
    rotate(made.keys, "operator", Step.SWITCH, "database")
    await made.sql("insert into operator.setting (tenant) values (gen_random_uuid())")
    login = login_in_use(made.keys, "operator_web")
    page = await asyncpg.connect(f"postgresql://{login.name}:{login.password}@{made.place}/chancela")
    assert await page.fetchval("select count(*) from setting") == 0
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await page.execute("select from inbox")
    await page.close()


# ----------------------------------------------------------------------------------------------------------- revocation


async def test_a_revoked_key_ends_the_process_which_is_not_ready_meanwhile_and_loses_nothing(
    made: Installation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A silent database holds the end up for some seconds: there readiness and metrics can be seen."""
    running = made.start_operator()
    await ready(running)
    async with under_load(made) as load:
        await load.goes_on()
        async with sessions_stand_still(made):
            await revoke(made, tmp_path_factory.mktemp("foreign"))

            async def is_unready() -> bool:
                return await readiness(running) == (503, "refused by NATS; the log says why")

            await until(is_unready)
            assert "chancela_bus_connected 0.0" in await metrics(running)
        assert await exit_code(running) == 3
        alert = msgspec.json.decode(running.log_tail(1))
        assert (alert["level"], alert["message"]) == ("error", "refused by NATS")
        assert "check CHANCELA_NATS_SEED" in alert["error"]
        assert await exit_code(made.start_operator()) == 3  # it stays out
        made.hand_out()
        await made.reload_nats()
        await ready(made.start_operator())
        await load.end()
        assert await load.heard_by("conversador") == load.said


@asynccontextmanager
async def sessions_stand_still(made: Installation) -> AsyncGenerator[None]:
    """The database says nothing any more to the operator: its end takes as long as it is patient."""
    rows = await made.sql("select pid from pg_stat_activity where usename = 'operator_bus'")
    for row in rows:
        os.kill(row["pid"], signal.SIGSTOP)
    try:
        yield
    finally:
        for row in rows:
            with suppress(ProcessLookupError):
                os.kill(row["pid"], signal.SIGCONT)


async def revoke(made: Installation, foreign: Path) -> None:
    """The server's file holds another key in the operator's place; what the process holds stays."""
    create_keys(foreign)
    own, other = (public_key(read_key(folder, "operator.nk")) for folder in (made.keys, foreign))
    handed_out = made.keys / "for" / "nats" / "keys.conf"
    handed_out.write_text(handed_out.read_text().replace(own, other))
    await made.reload_nats()


# ----------------------------------------------------------------------------------------------------- the steps' files


def test_each_step_can_be_given_twice_and_out_of_order_it_says_which_is_due(tmp_path: Path) -> None:
    create_keys(tmp_path)
    with pytest.raises(RotationError, match="do the step `admit` first"):
        rotate(tmp_path, "operator", Step.SWITCH)
    rotate(tmp_path, "operator", Step.ADMIT)
    admitted = nats_users(tmp_path)
    rotate(tmp_path, "operator", Step.ADMIT)
    assert nats_users(tmp_path) == admitted
    with pytest.raises(RotationError, match="do the step `switch` first"):
        rotate(tmp_path, "operator", Step.RETIRE)
    rotate(tmp_path, "operator", Step.SWITCH)
    rotate(tmp_path, "operator", Step.SWITCH)
    with pytest.raises(RotationError, match="do the step `retire` first"):
        rotate(tmp_path, "operator", Step.ADMIT)
    rotate(tmp_path, "operator", Step.RETIRE)
    rotate(tmp_path, "operator", Step.RETIRE)
    assert list(tmp_path.glob("*.next")) == list(tmp_path.glob("*.previous")) == []


def test_a_rotation_touches_one_identity_and_what_was_asked_for(tmp_path: Path) -> None:
    create_keys(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for step in Step:
        rotate(tmp_path, "operator", step, "nats")
    changed = {path.name for path in tmp_path.iterdir() if path.read_bytes() != before.get(path.name)}
    assert changed == {"operator.nk"}
    for step in Step:
        rotate(tmp_path, "delivery", step, "database")
    changed = {path.name for path in tmp_path.iterdir() if path.read_bytes() != before.get(path.name)}
    assert changed == {"operator.nk", "delivery_bus.password", "delivery_web.password"}


@pytest.mark.parametrize("cut_after", range(1, 9))
def test_a_step_that_was_cut_off_is_finished_by_giving_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_after: int
) -> None:
    """Cut after each of its file operations; meanwhile the servers' files never accept less than before."""
    create_keys(tmp_path)
    rotate(tmp_path, "operator", Step.ADMIT)
    old = public_key(read_key(tmp_path, "operator.nk"))
    operations = [0]

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(path: Path, *args: Any, **kwargs: Any) -> Any:
            if operations[0] == cut_after:
                raise KeyboardInterrupt
            operations[0] += 1
            return original(path, *args, **kwargs)

        return run

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", counted(Path.replace))
        patched.setattr(Path, "unlink", counted(Path.unlink))
        try:
            rotate(tmp_path, "operator", Step.SWITCH)
        except KeyboardInterrupt:
            assert old in nats_users(tmp_path)
    rotate(tmp_path, "operator", Step.SWITCH)
    assert old in nats_users(tmp_path)
    assert login_in_use(tmp_path, "operator_bus").name == "operator_bus_second"
    assert public_key(read_key(tmp_path, "operator.nk")) != old
    rotate(tmp_path, "operator", Step.RETIRE)
    assert old not in nats_users(tmp_path)


def test_a_person_is_told_what_to_do_after_each_step(tmp_path: Path) -> None:
    with pytest.raises(RotationError, match="holds no keys"):
        what_next(tmp_path, "operator")
    create_keys(tmp_path)
    assert what_next(tmp_path, "operator")[-1].endswith("--step admit")
    rotate(tmp_path, "operator", Step.ADMIT)
    words = "\n".join(what_next(tmp_path, "operator"))
    assert all(word in words for word in ("deploy.handout", "nats-server --signal reload", "deploy.roles", "switch"))
    rotate(tmp_path, "operator", Step.SWITCH)
    words = "\n".join(what_next(tmp_path, "operator"))
    assert "restart operator" in words
    assert words.endswith("--step retire")
    with pytest.raises(RotationError, match="no identity 'nobody'"):
        what_next(tmp_path, "nobody")
    with pytest.raises(RotationError, match="admin does not use the database"):
        what_next(tmp_path, "admin", "database")
