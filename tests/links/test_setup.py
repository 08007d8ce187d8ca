"""What the setup job keeps when it changes one thing, and what no consumer and no stream may be (see test_reports)."""

from typing import Any

from deploy.local.bus import wanted_streams
from tests.links.world import Links


async def test_a_repair_of_one_field_leaves_every_other_as_it_was(links: Links) -> None:
    """Through a client library, what is left out is sent as its default; this is the whole configuration, always."""
    before = (await links.ask("STREAM.INFO.INGEST_CONTACTS"))["config"]
    await links.ask("STREAM.UPDATE.INGEST_CONTACTS", {**before, "duplicate_window": 10**9, "description": "by hand"})
    changed = (await links.ask("STREAM.INFO.INGEST_CONTACTS"))["config"]
    assert changed["duplicate_window"] == 10**9
    await links.apply()
    after = (await links.ask("STREAM.INFO.INGEST_CONTACTS"))["config"]
    assert after["duplicate_window"] == before["duplicate_window"]
    assert {**after, "description": ""} == {**before, "description": ""}


def test_no_stream_drops_what_was_not_heard_and_no_consumer_gives_up() -> None:
    """S#6874, S#6538: max_deliver and interest retention hide messages. Attempts are counted in Postgres."""
    wanted: Any = wanted_streams()
    assert {(stream["retention"], stream["discard"]) for stream in wanted["streams"]} == {("limits", "new")}
    assert {consumer["max_deliver"] for consumer in wanted["consumers"]} == {-1}
