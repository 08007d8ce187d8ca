"""Settings of guardrails."""

from shared.config import BusConfig


class Config(BusConfig, frozen=True, kw_only=True):
    """What guardrails needs beside the bus."""

    seal_key: str
    """Private key that seals clearances (JSON of `shared.seal.SigningKey`)."""
    channels_file: str
    """JSON list of channels: `channel_id`, `tenant`, `kind`; optionally `activated_at`, `daily_cap`, `time_zone`."""
    rules_file: str = ""
    """JSON list of the tenants' rules as they stand at first start; later versions are made on the page."""
    clearance_seconds: int = 120
    """How long a clearance lives before delivery must ask anew."""
