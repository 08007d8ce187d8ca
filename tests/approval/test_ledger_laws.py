"""The database refuses what breaks the promise, also when the service itself asks."""

from uuid import UUID

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.messages import SendUncertain
from services.approval import audit
from services.approval.store import proving
from shared.db import Database
from tests.approval.office import ANA, OTHER_TENANT, TENANT, Office
from tests.servers import PostgresServer

REFUSED = (asyncpg.RestrictViolationError, asyncpg.CheckViolationError, asyncpg.ForeignKeyViolationError,
           asyncpg.UniqueViolationError)  # fmt: skip


async def refuses(db: Database, sql: str, *args: object, tenant: UUID = TENANT) -> None:
    with pytest.raises(REFUSED):
        async with db.transaction(tenant) as tx:
            await tx.execute(sql, *args)


@pytest.mark.parametrize("table", ["vote", "snapshot", "ledger", "audit", "audit_link"])
@pytest.mark.parametrize("role", ["bus", "web"])
async def test_what_happened_can_be_neither_changed_nor_deleted(office: Office, table: str, role: str) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendUncertain, approved, decision, code="t", detail=""))
    db = office.bench.db if role == "bus" else office.bench.web_db
    await refuses(db, f"update {table} set tenant = tenant")
    await refuses(db, f"delete from {table}")


async def test_a_filed_text_can_only_be_redacted(office: Office) -> None:
    await office.file()
    await refuses(office.bench.db, "update version set body = 'Outro'")
    await refuses(office.bench.db, "update version set commitment = repeat('0', 64)")
    await refuses(office.bench.db, "delete from version")
    async with office.bench.db.transaction() as tx:
        changed = await tx.execute(
            "update version set body = '', drafted_body = '', salt = null, redacted_at = clock_timestamp()"
        )
    assert changed == 1


async def test_nothing_is_approved_without_a_snapshot_or_snapshotted_without_the_vote(office: Office) -> None:
    filed = await office.file()
    await refuses(office.bench.db, "update obligation set state = 'approved', decision_id = gen_random_uuid()")
    snapshot = """insert into snapshot (tenant, decision_id, obligation_id, epoch, commitment, context_revision, policy,
        policy_version, voters, decided_at, send_by, seal)
      values ($1, gen_random_uuid(), $2, 1, $3, 1, 'single', 1, $4, now(), now() + interval '1 hour', '{}')"""
    await refuses(office.bench.db, snapshot, TENANT, filed.id, filed.version.commitment, [ANA])
    await refuses(office.bench.db, snapshot, TENANT, filed.id, "0" * 64, [ANA])


async def test_one_person_has_one_vote_an_epoch(office: Office) -> None:
    approved, _ = await office.approved()
    again = """insert into vote (tenant, obligation_id, epoch, person, verb, commitment, at)
               values ($1, $2, 1, $3, 'reject', 'c', now())"""
    await refuses(office.bench.db, again, TENANT, approved.id, ANA)
    await refuses(office.bench.db, again, TENANT, approved.id, "nobody@example.com")


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("sent", "open"), ("sent", "approved"), ("rejected", "open"), ("withdrawn", "approved"), ("expired", "open"),
     ("superseded", "approved"), ("waiting_agent", "approved"), ("uncertain", "open"), ("open", "failed")],
)  # fmt: skip
async def test_an_obligation_does_not_come_back_from_where_it_ended(office: Office, was: str, becomes: str) -> None:
    assert await office.bench.value("select obligation_may_become($1, $2)", was, becomes) is False


async def test_epochs_never_go_back(office: Office) -> None:
    await office.file("A")
    await office.file("B")
    await refuses(office.bench.db, "update obligation set epoch = 1")


async def test_a_conversation_has_one_open_text_of_a_kind(office: Office) -> None:
    filed = await office.file()
    await refuses(
        office.bench.db,
        """insert into obligation (tenant, id, conversation_id, contact_id, kind, state, epoch, opened_at,
             expires_at, updated_at) values ($1, gen_random_uuid(), $2, $3, 'reply', 'open', 1, now(), now(), now())""",
        TENANT,
        filed.conversation_id,
        filed.contact_id,
    )


async def test_a_tenant_sees_nothing_of_another_although_the_filter_was_forgotten(office: Office) -> None:
    approved, decision = await office.approved()
    tables = [
        row["table_name"]
        for row in await office.bench.rows(
            """select table_name from information_schema.columns
               where table_schema = 'approval' and column_name = 'tenant' and table_name <> 'job'"""
        )
    ]
    assert {"obligation", "version", "vote", "snapshot", "audit", "session", "person"} <= set(tables)
    for table in set(tables) - {"person"}:
        async with office.bench.web_db.transaction(OTHER_TENANT) as tx:
            assert await tx.value(f"select count(*) from {table}") == 0, table
        async with office.bench.web_db.transaction() as tx:
            assert await tx.value(f"select count(*) from {table}") == 0, table
    async with office.bench.web_db.transaction(OTHER_TENANT) as tx:
        assert await tx.execute("update obligation set banners = '[]'") == 0
    assert approved.decision_id == decision


async def test_another_tenant_s_rows_cannot_be_written(office: Office) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with office.bench.web_db.transaction(OTHER_TENANT) as tx:
            await tx.execute("insert into audit (tenant, id, entry) values ($1, gen_random_uuid(), '{}')", TENANT)


# ----------------------------------------------------------------------------------------------------------- audit


async def test_the_chain_holds_and_grows_with_what_people_do(office: Office) -> None:
    await office.approved()
    async with office.bench.web_db.transaction(TENANT) as tx:
        whole = await proving.check(tx, TENANT)
        links = await proving.links(tx, TENANT)
    assert isinstance(whole, audit.Whole)
    assert whole.length == len(links) == 2
    assert "Temos" not in "".join(link.entry for link in links)


async def as_superuser(server: PostgresServer, office: Office, *statements: str) -> None:
    """What somebody with the database's files could do."""
    name = await office.bench.value("select current_database()")
    connection = await asyncpg.connect(server.dsn(name))
    try:
        await connection.execute("set search_path to approval; set session_replication_role = replica")
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def links_of(*entries: str) -> list[audit.Link]:
    previous, links = audit.genesis(TENANT), list[audit.Link]()
    for seq, entry in enumerate(entries, 1):
        digest = audit.link_hash(previous, seq, entry)
        links.append(audit.Link(seq, entry, previous, digest))
        previous = digest
    return links


@given(st.lists(st.text(min_size=1), min_size=2, max_size=6), st.data())
def test_a_changed_removed_or_moved_entry_is_found(entries: list[str], data: st.DataObject) -> None:
    links = links_of(*entries)
    assert isinstance(audit.verify(TENANT, links), audit.Whole)
    at = data.draw(st.integers(0, len(links) - 1))
    changed = [*links[:at], links[at]._replace(entry=links[at].entry + "."), *links[at + 1 :]]
    assert audit.verify(TENANT, changed) == audit.Broken(at + 1, "its text was changed")
    if at < len(links) - 1:
        assert isinstance(audit.verify(TENANT, [*links[:at], *links[at + 1 :]]), audit.Broken)
    relinked = links_of(*[*entries[:at], entries[at] + ".", *entries[at + 1 :]])
    assert isinstance(audit.verify(TENANT, [*links[:at], relinked[at], *links[at + 1 :]]), audit.Broken) is (
        at < len(links) - 1
    )


def test_a_chain_of_another_tenant_does_not_verify() -> None:
    assert isinstance(audit.verify(OTHER_TENANT, links_of("a")), audit.Broken)


async def test_what_was_changed_in_the_database_behind_our_back_is_found(
    office: Office, postgres_server: PostgresServer
) -> None:
    await office.approved()
    await as_superuser(postgres_server, office, "update audit set entry = replace(entry, 'ana@', 'eva@')")
    async with office.bench.web_db.transaction(TENANT) as tx:
        assert isinstance(await proving.check(tx, TENANT), audit.Broken)
