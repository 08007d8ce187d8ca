"""Postgres: pools, transactions and the one shape of a write. The only importer of asyncpg beside the stores' types.

Laws
- Every acquire has a timeout; a starved pool is an error that is retried, never a hang.
- No transaction is open across a network call to anybody but Postgres.
- Two roles a service: `<service>_bus` sees the service's rows of all tenants, `<service>_web` only those of the tenant
  that its transaction names (row-level security, forced).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from shared import metrics
from shared.clock import monotonic
from shared.config import ConfigError

ACQUIRE_SECONDS = 10.0
COMMAND_SECONDS = 30.0
CLOSE_SECONDS = 5.0
IDLE_IN_TRANSACTION_SECONDS = 15
"""A process that stands still, or whose machine is gone, loses its locks after this: nobody else waits for longer."""
SILENT_LINK = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}
"""The server's own look at whether we are still there: two hours by default."""

Row = asyncpg.Record

TRANSIENT = (
    asyncpg.TransactionRollbackError,  # deadlocks and serialization failures
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shutdown, restart, a cancelled statement
    asyncpg.InsufficientResourcesError,  # no connection, memory or disk left
    asyncpg.ReadOnlySQLTransactionError,  # a standby, while a failover runs
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,  # this process stood still for too long
    asyncpg.InvalidCachedStatementError,  # a migration changed a table under a prepared statement
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what a connection says that was cut in the middle of an answer
    ConnectionError,
    TimeoutError,
    OSError,
)
"""What a retry of the whole transaction may heal."""


LOST_RACE = (asyncpg.TransactionRollbackError,)
"""Deadlock or serialization failure: the other transaction won; the same one again, at once, succeeds."""


_ROLLED_BACK = (asyncpg.TransactionRollbackError, asyncpg.IntegrityConstraintViolationError)
"""Answers to a COMMIT that leave no doubt. Any other error may have come after the commit was written."""


_LIFE = """
select concat_ws(' ', pg_postmaster_start_time(), (select oid from pg_database where datname = current_database()))
"""


class Outcome(Enum):
    """What became of a transaction, as far as its client can know."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    IN_DOUBT = "in doubt"
    """COMMIT was sent and not answered."""


class Misused(Exception):  # noqa: N818 - names what we did
    """A statement was given what it cannot take: a bug of ours, which the driver tells in the words of a lost wire."""


class ShutOut(ConfigError):  # noqa: N818 - names what the server did
    """The database does not let our login in: another password, or a retired one. Retrying cannot help."""

    def __init__(self, words: object) -> None:
        super().__init__(f"the database refuses us: {words}; check CHANCELA_DATABASE_URL (of pages: …_WEB_URL)")


class Write(NamedTuple):
    """A statement to run in the handler's transaction; equal neighbours are sent together."""

    sql: str
    args: tuple[Any, ...] = ()


class Tx:
    """An open transaction. Stores read through it; writes are returned as `Write` values and run by the bus."""

    __slots__ = ("_connection", "_when_over")

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._when_over: list[Callable[[Outcome], None]] = []

    def when_over(self, call: Callable[[Outcome], None]) -> None:
        """Call when the transaction has ended, once, whichever way; what is called must not wait."""
        self._when_over.append(call)

    def over(self, outcome: Outcome) -> None:
        """For the one who opened the transaction."""
        calls, self._when_over = self._when_over, []
        for call in calls:
            call(outcome)

    async def rows(self, sql: str, *args: Any) -> Sequence[Row]:
        return await self._connection.fetch(sql, *args)

    async def row(self, sql: str, *args: Any) -> Row | None:
        return await self._connection.fetchrow(sql, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        return await self._connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: Any) -> int:
        """Run a statement; returns the number of rows that it touched."""
        status: str = await self._connection.execute(sql, *args)
        tail = status.rsplit(" ", 1)[-1]
        return int(tail) if tail.isdigit() else 0

    async def many(self, sql: str, args: Iterable[Sequence[Any]]) -> None:
        await self._connection.executemany(sql, args)

    async def copy(self, table: str, columns: Sequence[str], records: Iterable[Sequence[Any]]) -> None:
        """Insert many rows of one table by COPY: about half the work of an insert, on both sides."""
        await self._connection.copy_records_to_table(table, columns=columns, records=records)

    async def write(self, writes: Iterable[Write]) -> None:
        """Run writes in their order, equal neighbours as one batch."""
        pending: list[Write] = []
        for write in writes:
            if pending and pending[0].sql != write.sql:
                await self._flush(pending)
                pending = []
            pending.append(write)
        if pending:
            await self._flush(pending)

    async def _flush(self, pending: list[Write]) -> None:
        if len(pending) == 1:
            await self._connection.execute(pending[0].sql, *pending[0].args)
        else:
            await self._connection.executemany(pending[0].sql, [write.args for write in pending])

    async def now(self) -> datetime:
        """The database's clock: the one that decides."""
        return await self._connection.fetchval("select clock_timestamp()")


class Database:
    """A pool of connections of one role."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._life = ""
        self.on_another_life: Callable[[], None] | None = None
        """Called when a new connection meets another run of the server, or another database of the name: before that
        connection is used, and so before anybody can work on what was restored."""

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        schema: str,
        name: str,
        max_size: int = 8,
        statement_cache_size: int = 512,
        command_seconds: float | None = None,
    ) -> "Database":
        database: Database = cls(None)
        database._pool = await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=max_size,
            command_timeout=command_seconds or COMMAND_SECONDS,
            statement_cache_size=statement_cache_size,
            server_settings={
                "search_path": schema,
                "application_name": name,
                "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_SECONDS}s",
                **SILENT_LINK,
            },
            init=database._begin,
            reset=_nothing_to_reset,
        )
        return database

    async def _begin(self, connection: Any) -> None:
        await _use_json_and_bytes(connection)
        life: str = await connection.fetchval(_LIFE)
        before, self._life = self._life, life
        if before not in ("", life) and self.on_another_life is not None:
            self.on_another_life()

    @asynccontextmanager
    async def transaction(self, tenant: UUID | None = None) -> AsyncGenerator[Tx]:
        """A transaction that commits when the block ends and rolls back when it raises.

        Args:
            tenant: whose rows a `<service>_web` connection may see; bus connections need none.
        """
        async with self._connection() as connection:
            tx = Tx(connection)
            transaction = connection.transaction()
            await transaction.start()
            try:
                if tenant is not None:
                    await connection.execute("select set_config('app.tenant', $1, true)", str(tenant))
                yield tx
            except BaseException:
                tx.over(Outcome.ROLLED_BACK)  # whatever the rollback says: COMMIT was never sent
                with suppress(*TRANSIENT):  # the first error counts; above all, a cancellation must stay one
                    await transaction.rollback()
                raise
            await _commit(transaction, tx)

    @asynccontextmanager
    async def autocommit(self) -> AsyncGenerator[Tx]:
        """A connection without a transaction: each statement commits by itself."""
        async with self._connection() as connection:
            yield Tx(connection)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Any]:
        try:
            connection = await self._pool.acquire(timeout=ACQUIRE_SECONDS)
        except asyncpg.InvalidAuthorizationSpecificationError as error:
            raise ShutOut(error) from error
        try:
            yield connection
        except asyncpg.InterfaceError as error:
            if connection.is_closed():
                raise
            raise Misused(str(error)) from error
        finally:
            with suppress(*TRANSIENT):  # what was done is done; the pool has dropped a link that says nothing
                await self._pool.release(connection)

    async def is_alive(self) -> bool:
        try:
            async with self.autocommit() as tx:
                return await tx.value("select true")
        except (*TRANSIENT, asyncpg.PostgresError, ShutOut):
            return False

    async def close(self) -> None:
        """Close, by force when a connection does not answer."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._pool.close()
        except (TimeoutError, *TRANSIENT):
            self._pool.terminate()


async def _commit(transaction: Any, tx: Tx) -> None:
    began = monotonic()
    try:
        await transaction.commit()
    except _ROLLED_BACK:
        tx.over(Outcome.ROLLED_BACK)
        raise
    except BaseException:
        tx.over(Outcome.IN_DOUBT)
        raise
    metrics.COMMIT.observe(monotonic() - began)
    tx.over(Outcome.COMMITTED)


async def _use_json_and_bytes(connection: Any) -> None:
    await connection.set_type_codec("jsonb", encoder=_text, decoder=_text, schema="pg_catalog")


async def _nothing_to_reset(_connection: Any) -> None:
    """Between two uses asyncpg would drop cursors, locks and settings of the session: four statements, and we have
    none of these. Settings and locks of ours are a transaction's; an open transaction asyncpg rolls back before this.
    """


def _text(value: str) -> str:
    """Values of type jsonb stay text here: msgspec codes them, at the edge that knows their type."""
    return value
