from services.approval.service import SERVICE
from shared.runtime import main

main(SERVICE)
