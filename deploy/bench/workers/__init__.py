"""Programs that the bench runs as processes of their own, so that each one's CPU is its own."""
