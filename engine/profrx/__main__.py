"""``python -m profrx``."""

from profrx.cli import main

if __name__ == "__main__":
    main()
