"""Commitments and seals: what binds a decision to exact bytes for an exact destination, verifiable offline.

Laws
- A seal is a DSSE envelope (https://github.com/secure-systems-lab/dsse, protocol.md): the signature covers
  `PAE(type, payload)`; the transmitted bytes are verified first and decoded after; nothing is ever re-encoded.
- Text and destination appear in a seal only as a commitment: sha256 over a 32-byte random salt and the length-prefixed
  fields. The salt lives beside the text and dies with it, so that a short text cannot be guessed from its seal.
- A key signs until its date and verifies for ever.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, TypeVar
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from contracts.messages import Destination, DraftOrigin, Envelope, Snapshot

SALT_BYTES = 32
APPROVAL = "application/vnd.chancela.approval+json"
CLEARANCE = "application/vnd.chancela.clearance+json"
RECEIPT = "application/vnd.chancela.receipt+json"


class SealError(Exception):
    """A seal, or what it binds, does not hold. The message says which part; the text is never in it."""


class ApprovalSeal(msgspec.Struct, frozen=True, kw_only=True):
    """Seal 1, by approval: this decision is about this commitment."""

    tenant: UUID
    obligation_id: UUID
    decision_id: UUID
    epoch: int
    conversation_id: UUID
    contact_id: UUID
    commitment: str
    context_revision: int
    origin: DraftOrigin
    filed_at: datetime | None
    reply_after_opt_out: bool
    policy: str
    policy_version: int
    voters: tuple[str, ...]
    decided_at: datetime
    not_before: datetime | None
    send_by: datetime

    @classmethod
    def of(cls, tenant: UUID, snapshot: Snapshot) -> "ApprovalSeal":
        """Everything of a snapshot that anybody later relies on; its texts only as the commitment."""
        return cls(
            tenant=tenant,
            obligation_id=snapshot.obligation_id,
            decision_id=snapshot.decision_id,
            epoch=snapshot.epoch,
            conversation_id=snapshot.conversation_id,
            contact_id=snapshot.contact_id,
            commitment=snapshot.commitment,
            context_revision=snapshot.context_revision,
            origin=snapshot.origin,
            filed_at=snapshot.filed_at,
            reply_after_opt_out=snapshot.reply_after_opt_out,
            policy=snapshot.policy,
            policy_version=snapshot.policy_version,
            voters=snapshot.decided_by,
            decided_at=snapshot.decided_at,
            not_before=snapshot.not_before,
            send_by=snapshot.send_by,
        )


class ClearanceSeal(msgspec.Struct, frozen=True, kw_only=True):
    """Seal 2, by guardrails: the chain let the sealed decision go, until `expires_at`."""

    decision_id: UUID
    approval_sha256: str
    chain_version: str
    chain_hash: str
    facts_digest: str
    cleared_at: datetime
    expires_at: datetime


class ReceiptSeal(msgspec.Struct, frozen=True, kw_only=True):
    """Seal 3, by delivery: the provider took the committed text."""

    decision_id: UUID
    obligation_id: UUID
    commitment: str
    approval_sha256: str
    clearance_sha256: str
    provider_id: str
    accepted_at: datetime


class SigningKey(msgspec.Struct, frozen=True):
    """A private key file: `{"key_id": …, "seed": base64, "sign_until": RFC 3339}`."""

    key_id: str
    seed: str
    sign_until: Annotated[datetime, msgspec.Meta(tz=True)]


class PublicKey(msgspec.Struct, frozen=True):
    """A line of the public key ring; `signs` is the one payload type that this key is trusted for."""

    key_id: str
    public: str
    signs: str


def new_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)


def commitment(salt: bytes, *, tenant: UUID, destination: Destination, body: str) -> str:
    """Hex sha256 of salt ‖ length-prefixed UTF-8 fields: body, tenant, channel, account, chat, thread, reply-to.

    An absent field and an empty one differ: absent is the length 2^64 - 1.
    """
    digest = hashlib.sha256(salt)
    fields = (
        body,
        str(tenant),
        str(destination.channel_id),
        destination.account,
        destination.chat,
        destination.thread,
        destination.reply_to,
    )
    for field in fields:
        if field is None:
            digest.update(b"\xff" * 8)
            continue
        encoded = field.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def text_digest(chat: str, body: str) -> str:
    """Recognises our own echo: hex sha256 of chat and text. Only between services, for the minutes of a send."""
    return hashlib.sha256(f"{chat}\n{body}".encode()).hexdigest()


def _pae(payload_type: str, payload: bytes) -> bytes:
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def fingerprint(envelope: Envelope) -> str:
    """Hex sha256 of what a seal signs: how a later seal names an earlier one."""
    return hashlib.sha256(_pae(envelope.payload_type, envelope.payload)).hexdigest()


class Signer:
    """Signs one kind of payload with one key."""

    def __init__(self, key: SigningKey, payload_type: str) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key.seed, validate=True))
        self._key = key
        self._payload_type = payload_type

    @classmethod
    def from_json(cls, text: str, payload_type: str) -> "Signer":
        """Read a key as it stands in its secret.

        Raises:
            SealError: the text is not a signing key.
        """
        try:
            return cls(msgspec.json.decode(text, type=SigningKey), payload_type)
        except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
            raise SealError(f"the seal key cannot be read: {error}") from error

    def sign(self, statement: msgspec.Struct, *, now: datetime) -> Envelope:
        """Seal a statement.

        Raises:
            SealError: the key's signing time is over; rotate it.
        """
        if now >= self._key.sign_until:
            raise SealError(f"key {self._key.key_id} signs only until {self._key.sign_until.isoformat()}; rotate it")
        payload = msgspec.json.encode(statement)
        signature = self._private.sign(_pae(self._payload_type, payload))
        return Envelope(payload_type=self._payload_type, payload=payload, key_id=self._key.key_id, signature=signature)


S = TypeVar("S", bound=msgspec.Struct)


class KeyRing:
    """Public keys, each trusted for one kind of seal."""

    def __init__(self, keys: Mapping[str, PublicKey]) -> None:
        self._keys = keys

    @classmethod
    def from_json(cls, text: str) -> "KeyRing":
        """Read a JSON array of `PublicKey`.

        Raises:
            SealError: the text is not a key ring.
        """
        try:
            keys = msgspec.json.decode(text, type=list[PublicKey])
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise SealError(f"the public key ring cannot be read: {error}") from error
        if len({key.key_id for key in keys}) < len(keys):
            raise SealError("the public key ring holds two keys of one name")
        return cls({key.key_id: key for key in keys})

    def open(self, envelope: Envelope, payload_type: str, statement: type[S]) -> S:
        """Verify the transmitted bytes, then decode them.

        Raises:
            SealError: wrong kind, unknown key, a key that is not trusted for this kind, or a bad signature.
        """
        if envelope.payload_type != payload_type:
            raise SealError(f"expected a seal of type {payload_type}, got {envelope.payload_type}")
        key = self._keys.get(envelope.key_id)
        if key is None or key.signs != payload_type:
            raise SealError(f"key {envelope.key_id} is not trusted for {payload_type}")
        try:
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public, validate=True))
        except ValueError as error:
            raise SealError(f"the public key {key.key_id} cannot be read: {error}") from error
        try:
            public.verify(envelope.signature, _pae(envelope.payload_type, envelope.payload))
        except InvalidSignature as error:
            raise SealError(f"the signature by key {envelope.key_id} does not verify") from error
        try:
            return msgspec.json.decode(envelope.payload, type=statement)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise SealError(f"what key {envelope.key_id} signed is not a {statement.__name__}: {error}") from error


def new_key(key_id: str, payload_type: str, *, sign_until: datetime) -> tuple[SigningKey, PublicKey]:
    """A fresh key pair for one kind of seal."""
    private = Ed25519PrivateKey.generate()
    seed = base64.b64encode(private.private_bytes_raw()).decode()
    public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    return SigningKey(key_id, seed, sign_until), PublicKey(key_id, public, payload_type)


def same(left: str, right: str) -> bool:
    """Compare digests in constant time."""
    return hmac.compare_digest(left.encode(), right.encode())
