"""One operation a file, found by name (`services/operator/catalogue.py`). There is none that sends."""
