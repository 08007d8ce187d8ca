"""The operator's SQL, by what it is about. Loads take a transaction; writes are values that the bus runs."""
