"""The SQL of ingest: people and their conversations, what was heard, our own sends."""
