"""What delivery works with, built once from the configuration: keys, channels, the sender."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from services.delivery.adapters import WahaAdapter
from services.delivery.config import LONGEST_CALL_SECONDS, Config, load_channels
from services.delivery.sender import Sender
from shared import seal
from shared.config import ConfigError
from shared.seal import KeyRing, SealError, Signer, SigningKey

SIGNING_MARGIN_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Kit:
    """`signs_until`: no send begins that could not be given a receipt."""

    config: Config
    ring: KeyRing
    signer: Signer
    signs_until: datetime
    adapters: Mapping[UUID, WahaAdapter]
    sender: Sender

    @classmethod
    def from_config(cls, config: Config) -> "Kit":
        """Read keys and channels.

        Raises:
            ConfigError: one of them is not usable; the message names the variable.
        """
        if not 0 < config.call_timeout_seconds <= LONGEST_CALL_SECONDS:
            raise ConfigError(f"CHANCELA_CALL_TIMEOUT_SECONDS must be above 0 and at most {LONGEST_CALL_SECONDS:g}")
        channels = load_channels(config.channels_file)
        try:
            ring = KeyRing.from_json(config.seal_ring)
            signer = Signer.from_json(config.seal_key, seal.RECEIPT)
        except SealError as error:
            raise ConfigError(f"CHANCELA_SEAL_RING or CHANCELA_SEAL_KEY: {error}") from error
        return cls(
            config,
            ring,
            signer,
            msgspec.json.decode(config.seal_key, type=SigningKey).sign_until,
            {channel_id: WahaAdapter(channel) for channel_id, channel in channels.items()},
            Sender(),
        )
