"""`chancela bench gates`: CPU of the ten gates for a message, side by side with what other guardrails cost."""
