from services.ingest.service import SERVICE
from shared.runtime import main

if __name__ == "__main__":
    main(SERVICE)
