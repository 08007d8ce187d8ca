"""Settings of delivery, and its channels: the only place that knows addresses and API keys of channels."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from shared.config import BusConfig, ConfigError

LONGEST_CALL_SECONDS = 25.0
"""A call may begin 30 s after begin-dispatch; with this it ends before the watchdog looks, at 60 s."""


class Config(BusConfig, frozen=True, kw_only=True):
    """What delivery needs besides the bus."""

    seal_ring: str
    """JSON array of public keys: approval's and guardrails' seals are verified with them."""
    seal_key: str
    """Private key of the receipts (seal 3)."""
    channels_file: str
    """JSON array of `Channel`."""
    call_timeout_seconds: float = 20.0
    """How long the channel may take to answer a send; then it is uncertain. At most 25."""
    lookup_timeout_seconds: float = 5.0
    """How long the channel may take to reserve an id or to look a message up."""
    waha_preassign_ids: bool = False
    """Reserve the message id before the send (engines NOWEB and GOWS): an uncertain send can then be looked up."""


class Channel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number or account of ours. Exactly one of `api_key_file` and `api_key`; `account` is WAHA's session."""

    channel_id: UUID
    tenant: UUID
    kind: Literal["waha"]
    account: str
    base_url: str
    api_key_file: str = ""
    api_key: str = ""


def load_channels(path: str) -> dict[UUID, Channel]:
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
    loaded = {channel.channel_id: _with_key(channel, where) for channel in channels}
    if len(loaded) != len(channels):
        raise ConfigError(f"{where}: a channel_id stands there twice")
    return loaded


def _with_key(channel: Channel, where: str) -> Channel:
    name = f"{where}: channel {channel.channel_id}"
    if urlsplit(channel.base_url).scheme not in {"http", "https"}:
        raise ConfigError(f"{name}: base_url must begin with http:// or https://")
    if bool(channel.api_key_file) == bool(channel.api_key):
        raise ConfigError(f"{name} needs exactly one of api_key_file and api_key")
    if channel.api_key:
        return _checked(channel, name)
    try:
        key = Path(channel.api_key_file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"{name}: api_key_file={channel.api_key_file} cannot be read: {error.strerror}") from error
    return _checked(msgspec.structs.replace(channel, api_key=key, api_key_file=""), name)


def _checked(channel: Channel, name: str) -> Channel:
    if not (channel.api_key.isascii() and channel.api_key.isprintable() and channel.api_key):
        raise ConfigError(f"{name}: its API key is empty or not printable ASCII")
    return channel
