"""One candidate rule a file, found by name (`services/guardrails/shadow.py`): `CANDIDATE = Candidate(gate=Gate(…))`.

The gate is named as its file. A release adopts it by moving it to `gates/`, into the chain, under a new version.
"""
