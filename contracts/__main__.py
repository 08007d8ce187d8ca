"""`python -m contracts [--check]`: write, or compare, what is generated from the map."""

import sys
from pathlib import Path

from contracts.generate import files, with_picture


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    wanted = {**files(), "README.md": with_picture(_read(root / "README.md"))}
    stale = [path for path, text in wanted.items() if _read(root / path) != text]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(f"{path} is stale; run: python -m contracts\n")
        return 1 if stale else 0
    for path in stale:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(wanted[path], encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
    return 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
