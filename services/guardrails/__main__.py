from services.guardrails.service import SERVICE
from shared.runtime import main

main(SERVICE)
