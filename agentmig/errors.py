"""The one family of errors that a person is meant to read."""


class AgentmigError(Exception):
    """What happened, where, and what to do, in one text; the command line prints it without a traceback.

    Attributes:
        exit_code: what the process ends with (2 unless a subclass says otherwise; see `docs/exit-codes.md`).
    """

    exit_code = 2
