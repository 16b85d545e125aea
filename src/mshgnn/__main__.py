"""The program ``mshgnn``, also as ``python -m mshgnn``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say in one line that it needs the extra ``lab``.

    Each command imports what it needs when it is run, so a missing package may show late.
    """
    try:
        from mshgnn.cli import main as run

        run()
    except ModuleNotFoundError as error:
        package = (error.name or "mshgnn").partition(".")[0]
        if package == "mshgnn":
            raise
        print(f"mshgnn: the command line needs {package}: pip install 'mshgnn[lab]'", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
