"""The program ``mshgnn``, also as ``python -m mshgnn``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say in one line that it needs the extra ``lab``."""
    try:
        from mshgnn.cli import main as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("mshgnn"):
            raise
        print(f"mshgnn: the command line needs {error.name}: pip install 'mshgnn[lab]'", file=sys.stderr)
        raise SystemExit(2) from None
    run()


if __name__ == "__main__":
    main()
