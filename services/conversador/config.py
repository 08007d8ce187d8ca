"""Settings of conversador."""

from uuid import UUID

from contracts.topology import ACK_WAIT_SECONDS
from shared.config import BusConfig


class Config(BusConfig, frozen=True, kw_only=True):
    """What the speaking role needs beside the bus."""

    model_base_url: str
    """An OpenAI-compatible endpoint, for example `https://models.example/v1`."""
    model_api_key: str = "none"
    """Its key; endpoints without keys take any value."""
    model_name: str
    """The model that speaks."""
    checkpoint_model_name: str = ""
    """A cheaper model for the closing of a turn; empty means the one that speaks. That one stays the reserve."""
    model_timeout_seconds: float = 30.0
    """How long one request may take."""
    model_retries: int = 2
    """How often a request is tried again after a failure that a retry may heal."""
    model_budget_seconds: float = 60.0
    """How long a request may take with all its retries."""
    closing_attempts: int = 2
    """How often the closing of a turn is tried before the turn closes with nobody's evaluation."""
    burst_debounce_seconds: float = 1.0
    """A turn begins after this much silence of the customer. 0 begins at once."""
    burst_cap_seconds: float = 5.0
    """A turn begins at the latest this long after the first message of a burst."""
    verdict_timeout_seconds: float = 120.0
    """Without a verdict for this long, a person gets the conversation."""
    verdict_hearing_seconds: float = ACK_WAIT_SECONDS + 5.0
    """How long the bus must have been heard without a break before a verdict counts as missing: what guardrails said
    while this process or the bus was down comes again after the stream's ack wait."""
    house_name: str = ""
    """The business in whose name the agent speaks; empty says nothing."""
    house_voice: str = ""
    """How the brand speaks, in a sentence or two."""
    house_time_zone: str = "America/Sao_Paulo"
    """Time zone of the dates that the model is told."""
    knowledge_file: str = ""
    """JSON array of `{"title", "body", "keywords", "language"}`, loaded at start. Same title and language:
    replaced."""
    knowledge_tenant: UUID | None = None
    """Whose knowledge the file holds. Needed with `knowledge_file`."""

    def __post_init__(self) -> None:
        """A knowledge file without an owner would be shown to nobody."""
        if self.knowledge_file and self.knowledge_tenant is None:
            raise ValueError("CHANCELA_KNOWLEDGE_FILE needs CHANCELA_KNOWLEDGE_TENANT: whose knowledge it is")
