"""The load's own HTTP: both ends speak to each other, and an answer that never comes is an error."""

import asyncio

import pytest

from deploy.bench import wire
from deploy.bench.wire import Answer, Asked, Client, ConnectionEnded
from deploy.local.ports import free_port


async def test_a_request_is_answered_with_its_own_body_over_a_kept_connection() -> None:
    port, seen = free_port(), list[Asked]()

    async def handle(asked: Asked) -> Answer:
        seen.append(asked)
        return Answer(201, asked.body[::-1])

    server, client = await wire.serve(handle, port), Client("127.0.0.1", port)
    assert await client.ask("POST", "/a?1", b"abc", {"X-Name": "x"}) == Answer(201, b"cba")
    assert await client.ask("GET", "/b") == Answer(201, b"")
    assert seen == [Asked("POST", "/a?1", b"abc"), Asked("GET", "/b", b"")]
    assert client.connections == 1
    client.close()
    server.close()


async def test_requests_beside_each_other_do_not_share_a_connection() -> None:
    port, both = free_port(), asyncio.Barrier(2)

    async def handle(asked: Asked) -> Answer:
        await both.wait()  # neither is answered before the other has arrived
        return Answer(200, asked.body)

    server, client = await wire.serve(handle, port), Client("127.0.0.1", port)
    answers = await asyncio.gather(client.ask("POST", "/", b"1"), client.ask("POST", "/", b"2"))
    assert [answer.body for answer in answers] == [b"1", b"2"]
    assert client.connections == 2
    client.close()
    server.close()


async def test_a_connection_that_ends_before_the_answer_is_an_error() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        writer.close()

    port = free_port()
    server = await asyncio.start_server(hang_up, "127.0.0.1", port)
    with pytest.raises(ConnectionEnded):
        await Client("127.0.0.1", port).ask("GET", "/")
    server.close()


async def test_a_connection_that_was_idle_too_long_is_not_used_again() -> None:
    port, hung_up = free_port(), asyncio.Event()

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        hung_up.set()

    server = await asyncio.start_server(once, "127.0.0.1", port)
    client = Client("127.0.0.1", port, kept_seconds=0.0)
    assert await client.ask("GET", "/") == Answer(200, b"")
    await hung_up.wait()
    assert await client.ask("GET", "/") == Answer(200, b"")
    client.close()
    server.close()
