"""The only SQL of conversador."""
