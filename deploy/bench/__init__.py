"""`chancela bench`: how fast the bus is, as ratios to what it is built on, in one interleaved run on real servers."""
