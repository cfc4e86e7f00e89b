"""Why a run ended with an error: from its exit code and the end of its log.

The log of several ranks is interleaved, and when one rank fails the others fail after it, of a lost peer. So the
exception that counts is the first rank's that isn't an echo of another's, and it is quoted.
"""

import re
import signal
from dataclasses import dataclass
from typing import NamedTuple

from agentmig.failures.taxonomy import CAUSES
from agentmig.journal.events import Outcome


class Classification(NamedTuple):
    """An outcome, its cause (None for ok) and a sentence for people."""

    outcome: Outcome
    cause: str | None
    summary: str


@dataclass(frozen=True)
class Raised:
    """An exception of a traceback.

    Attributes:
        rank: where the log names it.
        line: the traceback's last line.
        detail: the line with the lines of the message that follow it.
    """

    rank: str | None
    line: str
    detail: str

    @property
    def quoted(self) -> str:
        """As shown to people."""
        where = f"rank {self.rank}: " if self.rank is not None else ""
        # Some messages begin on the next line.
        text = self.detail.replace("\n", " ") if self.line.endswith(":") else self.line
        return f"{where}{_short(text)}"


_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIX = re.compile(r"^\[(?:rank|default)?(\d+)\]:\s?")
_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?::(?: .*)?)?$")
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s+File ".*", line \d+')
_WITHOUT_TRACEBACK = ("SyntaxError", "IndentationError", "TabError")
_DETAIL_LINES = 4
_LONGEST = 300

_ECHOES = re.compile(
    r"ChildFailedError|SignalException|ProcessExitedException|ProcessRaisedException|Connection closed by peer"
    r"|Connection reset by peer|Broken pipe|Socket closed|recvValue failed|SIGTERM|failed to recv|barrier.*died",
    re.IGNORECASE,
)

_DEVICE_MEMORY = r"CUDA out of memory|OutOfMemoryError|HBM|RESOURCE_EXHAUSTED.*(?:hbm|device|allocat|memory)|Ran out of memory in memory space"
# The first that matches decides; matched against the exception line that counts.
_OF_EXCEPTION: list[tuple[str, str]] = [
    (r"SyntaxError|IndentationError|TabError", "syntax_error"),
    (_DEVICE_MEMORY, "out_of_device_memory"),
    (
        r"MemoryError|Cannot allocate memory|DefaultCPUAllocator|can't allocate memory|not enough memory",
        "out_of_host_memory",
    ),
    (r"No space left on device|Disk quota exceeded", "disk_full"),
    (r"Address already in use|EADDRINUSE|port.*already in use", "port_in_use"),
    (r"TPU.*(?:already in use|is busy)|Device or resource busy|libtpu.*lockfile", "device_busy"),
    (
        r"Torch not compiled with CUDA|No CUDA GPUs are available|Found no NVIDIA driver|NVIDIA driver|CUDA driver"
        r"|CUDA error|torch\._C.*(?:_cuda|Cuda)|Cannot access accelerator device when none is available"
        r"|\bcuda\b.*(?:is_available\(\) is False|not available|unavailable|Invalid device)"
        r"|(?:ProcessGroupNCCL|\bnccl\b).*(?:no GPUs|not found|not available|built in|only supported)"
        r"|Distributed package doesn't have NCCL",
        "cuda_unavailable",
    ),
    (r"ModuleNotFoundError|No module named", "module_missing"),
    (r"ImportError", "import_error"),
    (
        r"CollectiveTimeout|got no answer from all|call the same collective|timed out (?:in|at|after).*(?:collective|all_reduce|all_gather|barrier|rendezvous|broadcast)"
        r"|(?:collective|all_reduce|all_gather|barrier|rendezvous|broadcast|reduce_scatter|monitoredBarrier).*"
        r"(?:timed? ?out|waited|timeout)|Timed out waiting \d+ms for (?:recv|send)|Watchdog caught collective"
        r"|DistStoreError.*[Tt]imed? ?out|wait timeout after|Deadline Exceeded",
        "collective_timeout",
    ),
    (r"[Pp]reempt|maintenance event|instance.*(?:terminated|deleted)", "preempted"),
    (
        r"[Dd]efault process group has not been initialized|init_process_group|Unknown c10d backend"
        r"|Invalid backend|process group .*(?:twice|not)|Backend \w+ not available",
        "process_group",
    ),
    (
        r"Expected all tensors to be on the same device|on the same device|[Ii]nput tensor is not an XLA tensor"
        r"|not an? XLA tensor|Expected XLA tensor"
        r"|expected TensorOptions\(.*device=(?P<device>\w+).*got TensorOptions\(.*device=(?!(?P=device))|Input type .*weight type .*should be the same"
        r"|(?:xla|cuda|tpu):\d+.*\bcpu\b.*device|Check failed: xtensor",
        "device_mismatch",
    ),
    (
        r"[Ff]ound (?:no|0) .*(?:TPU|device)|No (?:TPU|accelerator|visible|XLA)\b.*|Failed to (?:initialize|get global) TPU"
        r"|Expected one of cpu, cuda|[Ii]nvalid device|TPU.*not (?:found|available)|Could not .*(?:libtpu|TPU)"
        r"|Invalid device string|PJRT_DEVICE|device type .* not|[Tt]orch not linked with support for|No hardware is found|libtpu"
        r"|xla_device.*(?:not|fail)",
        "device_unavailable",
    ),
    (
        r"expected (?:m1 and m2|scalar type|mat1 and mat2|.*dtype)|same dtype|must have the same dtype"
        r"|not implemented for '(?:Half|BFloat16|Double|Float|Long)'|different dtype|(?:dtype|data type).*(?:mismatch|but got|not supported|unsupported)",
        "dtype_mismatch",
    ),
    (
        r"shapes? (?:cannot|mismatch|must|\[|')|size mismatch|[Ss]izes of tensors must match|size of tensor"
        r"|invalid for input of size|mat1 and mat2|[Cc]annot (?:be )?broadcast|incompatible (?:shapes|dimensions)"
        r"|batch_size .* to match|dimensions? .*(?:mismatch|must|out of range)|[Ee]xpected .*(?:input|target).*(?:size|channels)"
        r"|dims? .*(?:must|match)|[Ii]ncompatible shapes|shape '",
        "shape_mismatch",
    ),
    (
        r"INVALID_ARGUMENT|INTERNAL:|[Cc]ompil(?:ation|e|er).*(?:fail|error)|torch\._dynamo|BackendCompilerFailed|InductorError"
        r"|[Mm]osaic|HloModule|XlaRuntimeError|torch_xla/csrc",
        "compile_error",
    ),
    (
        r"UNIMPLEMENTED|NotImplementedError|not implemented|[Cc]ould not run '.*' with arguments",
        "unsupported_operation",
    ),
    (r"FileNotFoundError|No such file or directory|NotADirectoryError|IsADirectoryError", "file_missing"),
    (r"PermissionError|Permission denied|Read-only file system", "not_permitted"),
    (
        r"ConnectionRefusedError|Temporary failure in name resolution|Name or service not known|URLError|NewConnectionError"
        r"|Network is unreachable|Max retries exceeded|LocalEntryNotFoundError|OfflineModeIsEnabled",
        "no_network",
    ),
    (
        r"ConnectionResetError|BrokenPipeError|ConnectionAbortedError|Connection (?:reset|closed) by|Socket closed"
        r"|UNAVAILABLE|ssh:.*(?:lost|closed|refused)|ConnectionError",
        "connection_lost",
    ),
    (r"NameError|AttributeError|UnboundLocalError", "unknown_name"),
    (r"AssertionError", "assertion"),
    (r"ValueError|TypeError|IndexError|KeyError|OverflowError|ZeroDivisionError", "wrong_value"),
]
# Matched against the whole tail where there is no exception, in this order.
_OF_LOG: list[tuple[str, str]] = [
    # std::terminate for a joinable thread that is destroyed: no exception of the program is involved.
    (r"terminate called without an active exception", "teardown_crash"),
    (r"[Pp]reempted|maintenance event|was terminated by .*(?:spot|host)", "preempted"),
    (r"No space left on device", "disk_full"),
    (
        r"Out of memory: Killed process|oom-kill|oom_kill|\bOOM\b|std::bad_alloc|Cannot allocate memory",
        "out_of_host_memory",
    ),
    (
        r"client_loop: send disconnect|Connection to \S+ closed by remote host|Connection closed by remote host"
        r"|kex_exchange_identification|Broken pipe|ssh: connect to host",
        "connection_lost",
    ),
    (r"Address already in use", "port_in_use"),
    (r"(?:command not found|No such file or directory|can't open file)", "file_missing"),
    (
        r"^usage: .*|error: (?:unrecognized arguments|the following arguments are required|argument )",
        "wrong_usage",
    ),
    (r"Watchdog caught collective|waited longer than", "collective_timeout"),
    (r"Check failed:|F\d{4} .*\.cc:\d+|RESOURCE_EXHAUSTED", "rank_died"),
]
_KILLED = {signal.SIGKILL: "out_of_host_memory"}
_ELASTIC_EXIT = re.compile(r"exitcode\s*:\s*(-?\d+)")


def classify(exit_code: int | None, timed_out: bool, log_tail: str) -> Classification:
    """Say how a run ended.

    Args:
        exit_code: of the command; None where it was never known (such as a run cut off by the machine's end); negative,
            or 128 and more, for a signal.
        timed_out: the supervisor ended it because its time was over.
        log_tail: the end of both output streams.

    Returns:
        Outcome `ok`, `loud`, or `infra` where the code is not to blame; never `silent`, which only gates can tell.
    """
    text = _ANSI.sub("", log_tail.replace("\r", "\n"))
    raised = root_exception(text)
    if timed_out:
        return _timed_out(raised)
    if exit_code == 0:
        return Classification(Outcome.OK, None, "ended with exit code 0")
    cause, why = _cause(exit_code, raised, text)
    ended = "its exit code is unknown" if exit_code is None else f"ended with exit code {exit_code}"
    return Classification(_outcome(cause), cause, f"{ended}: {CAUSES[cause].meaning} {why}".rstrip())


def _outcome(cause: str) -> Outcome:
    return Outcome.INFRA if CAUSES[cause].fault == "infrastructure" else Outcome.LOUD


def _timed_out(raised: Raised | None) -> Classification:
    cause = _match(_OF_EXCEPTION, raised.detail) if raised else None
    if raised and cause:
        # A rank that failed leaves the others waiting: its error is the cause.
        summary = f"did not end in time; before that, {raised.quoted}"
        return Classification(_outcome(cause), cause, summary)
    return Classification(
        Outcome.LOUD, "timed_out", "did not end in time, and was ended with all of its processes"
    )


def _cause(exit_code: int | None, raised: Raised | None, text: str) -> tuple[str, str]:
    number = _signal(exit_code) or _signal_of_a_rank(text)
    if raised and not _ECHOES.search(raised.line):
        return _match(_OF_EXCEPTION, raised.detail) or "exception", raised.quoted
    from_log = _match(_OF_LOG, text)
    if from_log == "rank_died" and number is None:
        from_log = None
    if from_log == "connection_lost" and raised:
        # A rank that lost its peer: the connection was one between ranks.
        from_log = None
    if from_log:
        return from_log, _line_of(_OF_LOG, from_log, text)
    if number is not None:
        name = signal.Signals(number).name
        return _KILLED.get(signal.Signals(number), "rank_died"), f"The signal was {name}."
    if raised:
        return "collective_timeout", raised.quoted
    if exit_code is None:
        return "connection_lost", ""
    return "nonzero_exit", _last_line(text)


def _match(rules: list[tuple[str, str]], text: str) -> str | None:
    return next((cause for pattern, cause in rules if re.search(pattern, text, re.MULTILINE)), None)


def _line_of(rules: list[tuple[str, str]], cause: str, text: str) -> str:
    patterns = [pattern for pattern, name in rules if name == cause]
    lines = [
        line.strip() for line in text.splitlines() if any(re.search(pattern, line) for pattern in patterns)
    ]
    return _short(lines[-1]) if lines else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"Last line: {_short(lines[-1])}" if lines else "The log is empty."


def _signal(exit_code: int | None) -> int | None:
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - 128
    return number if number in set(signal.Signals) else None


def _signal_of_a_rank(text: str) -> int | None:
    """The signal of a rank that torchrun reports; its own exit code is 1."""
    codes = [int(code) for code in _ELASTIC_EXIT.findall(text)]
    # The ranks that torchrun itself ends get SIGTERM; the one that started it has another.
    numbers = [-code for code in codes if code < 0 and -code != signal.SIGTERM]
    return numbers[0] if numbers and numbers[0] in set(signal.Signals) else None


def root_exception(text: str) -> Raised | None:
    """The exception that began it: of the first rank whose last exception isn't an echo of another rank's end."""
    last: dict[str | None, Raised] = {}
    for raised in _exceptions(text):
        known = last.get(raised.rank)
        if known is None or _ECHOES.search(known.line) or not _ECHOES.search(raised.line):
            last[raised.rank] = raised
    own = [raised for raised in last.values() if not _ECHOES.search(raised.line)]
    return own[0] if own else next(iter(last.values()), None)


class _Reader:
    """Reads the tracebacks of one rank, line by line.

    Ranks that the log doesn't name share a reader, with several tracebacks open at once.
    """

    def __init__(self, rank: str | None):
        self.rank = rank
        self.found: list[tuple[int, list[str]]] = []
        self._open = 0
        self._in_message = False

    def read(self, number: int, line: str) -> None:
        if _TRACEBACK in line:
            self._open += 1
            self._in_message = False
        elif _FRAME.match(line):
            # The beginning of the traceback may lie before the tail.
            self._open = max(self._open, 1)
            self._in_message = False
        elif self._open and (matched := _RAISED.match(line.rstrip())):
            self._open = 0 if matched[1] in _WITHOUT_TRACEBACK else self._open - 1
            self._in_message = True
            self.found.append((number, [line.strip()]))
        elif self._in_message and line.strip() and len(self.found[-1][1]) <= _DETAIL_LINES:
            self.found[-1][1].append(line.strip())


def _exceptions(text: str) -> list[Raised]:
    """Exceptions of tracebacks, in order; ranks are told apart where the log names them."""
    readers: dict[str | None, _Reader] = {}
    for number, line in enumerate(text.splitlines()):
        prefix = _PREFIX.match(line)
        rank = prefix[1] if prefix else None
        readers.setdefault(rank, _Reader(rank)).read(number, line[prefix.end() :] if prefix else line)
    found = [(number, reader.rank, lines) for reader in readers.values() for number, lines in reader.found]
    return [
        Raised(rank, lines[0], "\n".join(lines)) for _, rank, lines in sorted(found, key=lambda item: item[0])
    ]


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
