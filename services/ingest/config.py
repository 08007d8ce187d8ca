"""Settings of ingest, and its channels: who may post webhooks, and with which key they are signed."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec

from contracts.topology import ACK_WAIT_SECONDS
from shared.config import BusConfig, ConfigError


class Config(BusConfig, frozen=True, kw_only=True):
    """What ingest needs besides the bus."""

    channels_file: str
    """JSON array of `Channel`."""
    webhook_freshness_hours: float = 40.0
    """How old a webhook's signed time may be; must cover the whole retry horizon of the sender."""
    echo_hold_seconds: float = 15.0
    """How long a message from our own account waits for its send before it counts as a person's reply."""
    echo_hearing_seconds: float = ACK_WAIT_SECONDS + 5.0
    """How long the bus must have been heard without a break before an unclaimed message is a person's reply: what
    delivery said while this process or the bus was down comes again after the stream's ack wait."""
    echo_copy_seconds: float = 120.0
    """How long after a send other ids may still carry its echo (some engines report one send several times)."""
    default_language: str = "pt-BR"
    """Language of a conversation until the customer's words show another."""


class Channel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of ours. Exactly one of `hmac_key_file` and `hmac_key`; `slug` may stand in the webhook's address."""

    channel_id: UUID
    slug: str
    tenant: UUID
    kind: Literal["waha"]
    session: str
    hmac_key: str = ""
    hmac_key_file: str = ""
    name: str = ""


class Channels:
    """The channels by what the webhook's address says."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.all = tuple(channels)
        self._by_address = {address: one for one in channels for address in (one.slug, str(one.channel_id))}

    def at(self, address: str) -> Channel | None:
        return self._by_address.get(address) or self._by_address.get(address.lower())


def load_channels(path: str) -> Channels:
    """Read the channels file and the key files that it names.

    Raises:
        ConfigError: the file, a channel or a key file is not usable; the message names it.
    """
    where = f"CHANCELA_CHANNELS_FILE={path}"
    try:
        channels = msgspec.json.decode(Path(path).read_bytes(), type=list[Channel])
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{where}: {error}") from error
    addresses = Counter(address for one in channels for address in (one.slug, str(one.channel_id)))
    if twice := [address for address, count in addresses.items() if count > 1 or not address]:
        raise ConfigError(f"{where}: {twice[0]!r} must name exactly one channel")
    return Channels([_with_key(channel, f"{where}: channel {channel.channel_id}") for channel in channels])


def _with_key(channel: Channel, name: str) -> Channel:
    if bool(channel.hmac_key_file) == bool(channel.hmac_key):
        raise ConfigError(f"{name} needs exactly one of hmac_key_file and hmac_key")
    if channel.hmac_key:
        return channel
    try:
        key = Path(channel.hmac_key_file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"{name}: hmac_key_file={channel.hmac_key_file} cannot be read: {error.strerror}") from error
    if not key:
        raise ConfigError(f"{name}: hmac_key_file={channel.hmac_key_file} is empty")
    return msgspec.structs.replace(channel, hmac_key=key, hmac_key_file="")
