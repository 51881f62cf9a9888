"""The entry point of the command `sanpath`, and of `python -m sanpath`."""

import signal


def main() -> None:
    """Run the command line. While its modules are loaded, and after its last line, Ctrl-C just ends the process,
    without a traceback."""
    is_interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from sanpath import cli

    try:
        if is_interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.main()
    finally:
        if is_interruptible:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
