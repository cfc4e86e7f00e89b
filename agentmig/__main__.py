"""Entry point. Nothing heavy is imported before Ctrl-C is met well."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with 130."""
    try:
        from agentmig.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
