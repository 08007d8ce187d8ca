"""The only SQL of delivery: claims and attempts, what was heard, early reports."""
