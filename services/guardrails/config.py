"""Settings of guardrails."""

from shared.web.settings import PagesConfig


class Config(PagesConfig, frozen=True, kw_only=True):
    """What guardrails needs beside the bus and the sign-in to its pages."""

    seal_key: str
    """Private key that seals clearances (JSON of `shared.seal.SigningKey`)."""
    channels_file: str
    """JSON list of channels: `channel_id`, `tenant`, `kind`; optionally `activated_at`, `daily_cap`, `time_zone`."""
    rules_file: str = ""
    """JSON list of the tenants' rules as they stand at first start; later versions are made on the page."""
    clearance_seconds: int = 120
    """How long a clearance lives before delivery must ask anew."""
    classifier_base_url: str = ""
    """Base URL of an OpenAI-compatible endpoint that reads texts for promises; empty: the words alone are judged."""
    classifier_api_key: str = "none"
    """Its key."""
    classifier_model: str = "chancela-local"
    """Its model. Another model reads texts anew."""
    classifier_timeout_seconds: float = 5.0
    """How long one try may take."""
    classifier_retries: int = 1
    """Tries after the first."""
