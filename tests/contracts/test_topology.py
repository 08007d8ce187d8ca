"""The map's own laws, and that what is generated from it is current."""

import subprocess
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from contracts import generate, topology
from contracts import messages as m
from deploy.keys import create_keys
from deploy.local.bus import server_config
from deploy.local.nats import nats_program

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "contracts" / "examples").glob("*/*.json"))


def test_each_message_is_said_by_exactly_one_topic() -> None:
    said = [message for topic in topology.TOPICS for message in topic.says]
    assert len(said) == len(set(said))


def test_each_topic_is_heard_and_nobody_hears_itself() -> None:
    for topic in topology.TOPICS:
        assert topic.heard_by
        assert topic.said_by not in topic.heard_by
        assert set(topic.heard_by) <= set(topology.SERVICES)


def test_only_guardrails_says_a_send_and_only_delivery_hears_it() -> None:
    (send,) = [topic for topic in topology.TOPICS if topic.stream == "SEND"]
    assert (send.said_by, send.heard_by, send.says) == ("guardrails", ("delivery",), (m.SendCommand,))


def test_no_right_of_the_operator_names_a_send() -> None:
    assert not [subject for subject in generate.rights("operator") if "send" in subject.lower()]


def test_streams_do_not_overlap() -> None:
    roots = [topic.root for topic in topology.TOPICS]
    assert len(roots) == len(set(roots))
    assert {topic.stream for topic in topology.TOPICS} == set(topology.STREAMS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_decodes_forever(path: Path) -> None:
    topic = topology.BY_ROOT[path.parent.name]
    message = topology.decode(topic, path.read_bytes())
    assert type(message).__name__ == path.stem
    assert topology.decode(topic, topology.encode(message)) == message


def test_each_message_has_an_example() -> None:
    named = {(path.parent.name, path.stem) for path in EXAMPLES}
    assert named == {(topic.root, message.__name__) for topic in topology.TOPICS for message in topic.says}


def test_a_message_of_another_topic_does_not_decode() -> None:
    revoked = m.Redacted(tenant=uuid4(), cause="erasure")
    assert topology.decode(topology.BY_ROOT["send.cmd"], topology.encode(revoked)) == revoked
    with pytest.raises(Exception, match="type"):
        topology.decode(topology.BY_ROOT["send.cmd"], b'{"type":"DraftProposed"}')


def test_a_key_always_falls_into_the_same_partition() -> None:
    assert topology.partition(UUID(int=1)) == 12
    assert {topology.partition(uuid4()) for _ in range(500)} == set(range(16))


def test_the_generated_files_are_current() -> None:
    for path, text in generate.files().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is stale; run: python -m contracts"


def test_the_readme_shows_the_map_of_now() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert generate.PICTURE_BEGINS in readme
    assert generate.with_picture(readme) == readme


def test_the_real_server_accepts_the_generated_configuration(tmp_path: Path) -> None:
    create_keys(tmp_path / "keys")
    config = tmp_path / "nats.conf"
    config.write_text(server_config(tmp_path / "keys"))
    done = subprocess.run([nats_program(), "-c", config, "-t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
