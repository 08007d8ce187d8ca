"""`python -m services.operator`."""

from services.operator.service import SERVICE
from shared.runtime import main

main(SERVICE)
