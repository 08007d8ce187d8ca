"""`python -m services.conversador`."""

from services.conversador.service import SERVICE
from shared.runtime import main

main(SERVICE)
