"""Seals: what is signed is what is read, by the key that may, until its date; and texts cannot be guessed from them."""

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from contracts.messages import Destination, Envelope
from shared import seal
from shared.seal import ClearanceSeal, KeyRing, ReceiptSeal, SealError, Signer

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
CLEARED = ClearanceSeal(
    decision_id=UUID(int=1), approval_sha256="a" * 64, chain_version="1", chain_hash="c" * 64, facts_digest="f" * 64,
    cleared_at=NOW, expires_at=NOW + timedelta(minutes=5),
)  # fmt: skip
THERE = Destination(channel_id=UUID(int=2), account="4711", chat="5511999990000@c.us")
SALT = bytes(range(32))


def keys(signs: str = seal.CLEARANCE) -> tuple[Signer, KeyRing]:
    signing, public = seal.new_key("k1", signs, sign_until=NOW + timedelta(days=90))
    return Signer(signing, signs), KeyRing({"k1": public})


def opened(ring: KeyRing, envelope: Envelope) -> ClearanceSeal:
    return ring.open(envelope, seal.CLEARANCE, ClearanceSeal)


def test_the_signed_bytes_are_those_of_the_dsse_specification() -> None:
    # the example of protocol.md, "PAE definition"
    envelope = Envelope(payload_type="http://example.com/HelloWorld", payload=b"hello world", key_id="k", signature=b"")
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert seal.fingerprint(envelope) == hashlib.sha256(expected).hexdigest()


def test_a_seal_verifies_with_another_implementation_of_the_same_paper() -> None:
    private = Ed25519PrivateKey.generate()
    seed = base64.b64encode(private.private_bytes_raw()).decode()
    envelope = Signer(seal.SigningKey("k1", seed, NOW + timedelta(days=1)), seal.CLEARANCE).sign(CLEARED, now=NOW)
    kind = seal.CLEARANCE.encode()
    signed = b" ".join((b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(envelope.payload), envelope.payload))
    Ed25519PublicKey.from_public_bytes(private.public_key().public_bytes_raw()).verify(envelope.signature, signed)


def test_what_was_sealed_is_what_is_read() -> None:
    signer, ring = keys()
    assert opened(ring, signer.sign(CLEARED, now=NOW)) == CLEARED


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_no_single_byte_of_a_seal_can_be_changed() -> None:
    signer, ring = keys()
    envelope = signer.sign(CLEARED, now=NOW)
    for at in range(len(envelope.payload)):
        with pytest.raises(SealError):
            opened(ring, msgspec.structs.replace(envelope, payload=flipped(envelope.payload, at)))
    for at in range(len(envelope.signature)):
        with pytest.raises(SealError):
            opened(ring, msgspec.structs.replace(envelope, signature=flipped(envelope.signature, at)))


@pytest.mark.parametrize(
    "change",
    [{"payload_type": seal.APPROVAL}, {"key_id": "k2"}, {"signature": b""}, {"payload": b""}],
    ids=lambda change: next(iter(change)),
)
def test_no_field_of_an_envelope_can_be_exchanged(change: dict[str, object]) -> None:
    signer, ring = keys()
    with pytest.raises(SealError):
        opened(ring, msgspec.structs.replace(signer.sign(CLEARED, now=NOW), **change))


@pytest.mark.parametrize("field", ClearanceSeal.__struct_fields__)
def test_no_statement_can_be_exchanged_under_its_signature(field: str) -> None:
    signer, ring = keys()
    envelope = signer.sign(CLEARED, now=NOW)
    told = msgspec.json.decode(envelope.payload)
    told[field] = "2027-01-01T00:00:00Z" if field.endswith("_at") else str(UUID(int=9))
    with pytest.raises(SealError, match="does not verify"):
        opened(ring, msgspec.structs.replace(envelope, payload=msgspec.json.encode(told)))


def test_a_key_is_trusted_for_its_own_kind_of_seal_only() -> None:
    signing, public = seal.new_key("k1", seal.APPROVAL, sign_until=NOW + timedelta(days=1))
    envelope = Signer(signing, seal.CLEARANCE).sign(CLEARED, now=NOW)
    with pytest.raises(SealError, match="not trusted"):
        opened(KeyRing({"k1": public}), envelope)


def test_a_seal_of_one_kind_does_not_open_as_another() -> None:
    signer, ring = keys(seal.RECEIPT)
    with pytest.raises(SealError, match="expected a seal of type"):
        opened(ring, signer.sign(CLEARED, now=NOW))


def test_a_signed_statement_of_another_form_is_a_seal_error() -> None:
    signer, ring = keys()
    with pytest.raises(SealError, match="ReceiptSeal"):
        ring.open(signer.sign(CLEARED, now=NOW), seal.CLEARANCE, ReceiptSeal)


def test_a_key_signs_until_its_date_and_verifies_after_it() -> None:
    signing, public = seal.new_key("k1", seal.CLEARANCE, sign_until=NOW)
    signer = Signer(signing, seal.CLEARANCE)
    envelope = signer.sign(CLEARED, now=NOW - timedelta(seconds=1))
    with pytest.raises(SealError, match="k1 signs only until"):
        signer.sign(CLEARED, now=NOW)
    assert opened(KeyRing({"k1": public}), envelope) == CLEARED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"key_id": "k", "seed": "AAAA", "sign_until": "2027-01-01T00:00:00Z"}',
        '{"key_id": "k", "seed": "!", "sign_until": "2027-01-01T00:00:00Z"}',
        f'{{"key_id": "k", "seed": "{base64.b64encode(bytes(32)).decode()}", "sign_until": "2027-01-01T00:00:00"}}',
    ],
)
def test_a_key_that_cannot_be_read_is_a_seal_error_at_the_start(text: str) -> None:
    with pytest.raises(SealError, match="cannot be read"):
        Signer.from_json(text, seal.CLEARANCE)


@pytest.mark.parametrize("text", ["", "{}", '[{"key_id": "k"}]'])
def test_a_key_ring_that_cannot_be_read_is_a_seal_error(text: str) -> None:
    with pytest.raises(SealError, match="cannot be read"):
        KeyRing.from_json(text)


def test_a_key_ring_with_two_keys_of_one_name_is_refused() -> None:
    _, public = seal.new_key("k1", seal.CLEARANCE, sign_until=NOW)
    with pytest.raises(SealError, match="two keys"):
        KeyRing.from_json(msgspec.json.encode([public, public]).decode())


def test_a_public_key_that_is_none_is_a_seal_error() -> None:
    signer, _ = keys()
    with pytest.raises(SealError, match="k1 cannot be read"):
        opened(KeyRing({"k1": seal.PublicKey("k1", "AAAA", seal.CLEARANCE)}), signer.sign(CLEARED, now=NOW))


def committed(body: str = "oi", salt: bytes = SALT, tenant: int = 7, there: Destination = THERE) -> str:
    return seal.commitment(salt, tenant=UUID(int=tenant), destination=there, body=body)


@pytest.mark.parametrize(
    "other",
    [
        committed(body="oi!"),
        committed(salt=flipped(SALT, 0)),
        committed(tenant=8),
        *(
            committed(there=msgspec.structs.replace(THERE, **change))
            for change in (
                {"channel_id": UUID(int=3)},
                {"account": "4712"},
                {"chat": "other"},
                {"thread": "t"},
                {"thread": ""},
                {"reply_to": "r"},
                {"reply_to": ""},
                {"account": "47115511999990000@c.us", "chat": ""},
            )
        ),
    ],
)
def test_a_commitment_binds_the_text_and_every_part_of_its_destination(other: str) -> None:
    assert other != committed()


def test_digests_are_compared_as_a_whole() -> None:
    assert seal.same(committed(), committed())
    assert not seal.same(committed(), committed()[:-1])
