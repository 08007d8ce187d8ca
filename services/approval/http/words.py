"""People's words in requests: control characters go before anything is kept.

Texts to send are cleaned where they are filed, where what went is remembered.
"""

from typing import Annotated

from pydantic import AfterValidator

from services.approval.filing import clean_line, clean_text

Words = Annotated[str, AfterValidator(lambda text: clean_text("", text)[0])]
Line = Annotated[str, AfterValidator(lambda text: clean_line("", text)[0])]
