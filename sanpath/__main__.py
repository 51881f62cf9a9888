"""`python -m sanpath` is the same as the `sanpath` command."""

from sanpath.cli import main

if __name__ == "__main__":
    main()
