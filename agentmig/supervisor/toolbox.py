"""What the agent's three tools do: run on a target, ask a person, claim success.

Each leaves its event in the journal before it answers. A run that takes longer than the tool may wait goes on without
the agent, whose turn ends; the loop awaits it and tells the agent.
"""

import asyncio
import secrets
from pathlib import Path

from agentmig.agent.prompts import render
from agentmig.agent.tools import ToolReply
from agentmig.errors import AgentmigError
from agentmig.execution.launch import Plan
from agentmig.journal import fold
from agentmig.journal.events import AttemptFinished, AttemptStarted, ClaimMade, QuestionAsked, Verdict
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.setup import Bench
from agentmig.verification.outcomes import attempt_fields

_LOG_TAIL = 4000


class Toolbox:
    """The tools of one migration.

    Args:
        bench: the run.
        limits: says when nothing more may be dispatched.
    """

    def __init__(self, bench: Bench, limits: Limits):
        self._bench = bench
        self._limits = limits
        self._running: asyncio.Task[AttemptFinished] | None = None

    async def run_on_target(self, target: str, chips: int | None, command: str | None) -> ToolReply:
        """Run the worktree as it stands on a target, with the cheap gates."""
        workload = self._bench.workload
        if target not in workload.targets:
            return ToolReply(
                f"There is no target {target!r}. The targets are: {', '.join(workload.targets)}.",
                is_error=True,
            )
        spec = workload.targets[target]
        count = chips if chips is not None else spec.chips
        if not 1 <= count <= spec.chips:
            return ToolReply(
                f"Target {target!r} has {spec.chips} chips; chips must be from 1 to {spec.chips}.",
                is_error=True,
            )
        if self._running and not self._running.done():
            return ToolReply(
                "An earlier run still holds the target. End your turn; its result opens the next one.",
                ends_turn=True,
            )
        if reason := self._limits.exceeded():
            return ToolReply(f"Nothing more is run: {reason}. End your turn.", is_error=True, ends_turn=True)
        self._running = asyncio.create_task(self._attempt(target, count, command))
        done, _ = await asyncio.wait({self._running}, timeout=workload.agent.tool_wait_s)
        if not done:
            text = "The run takes longer than this tool may wait. It goes on; end your turn, and its result opens the next one."
            return ToolReply(text, ends_turn=True)
        try:
            return ToolReply(self.report(self._running.result()))
        except AgentmigError as error:
            return ToolReply(f"The run could not be made: {error}", is_error=True)

    async def ask_human(self, question: str) -> ToolReply:
        """Put a question to a person."""
        self._bench.journal.append(QuestionAsked, question=question, by="agent")
        return ToolReply(
            "Your question is recorded. End your turn; the answer opens the next one.", ends_turn=True
        )

    async def claim_success(self, summary: str, commit: str | None) -> ToolReply:
        """Claim that a commit is the finished migration."""
        repository = self._bench.repository
        try:
            claimed = await asyncio.to_thread(repository.commit, commit or "HEAD")
            committed = await asyncio.to_thread(repository.is_committed)
        except AgentmigError as error:
            return ToolReply(f"The claim is not recorded: {error}", is_error=True)
        if claimed == repository.base:
            return ToolReply(
                "The claim is not recorded: the commit is the unmigrated base. Commit your work first.",
                is_error=True,
            )
        if commit is None and not committed:
            text = "The claim is not recorded: the worktree holds changes that are not committed. Commit them, then claim."
            return ToolReply(text, is_error=True)
        number = sum(1 for event in self._bench.journal.events if isinstance(event, ClaimMade)) + 1
        self._bench.journal.append(ClaimMade, claim=f"claim-{number}", commit=claimed, summary=summary)
        text = f"Recorded as claim-{number} at {claimed[:12]}. End your turn now; the outcome of the verification opens the next one."
        return ToolReply(text, ends_turn=True)

    async def settle(self) -> None:
        """Wait for a run that outlived the agent's turn; its result is in the journal then."""
        if self._running:
            await asyncio.wait({self._running})

    async def cancel(self) -> None:
        """End a run that is still going on."""
        if self._running and not self._running.done():
            self._running.cancel()
            await asyncio.wait({self._running})

    def report(self, attempt: AttemptFinished, late: bool = False) -> str:
        """What the agent is told about a finished attempt.

        Args:
            attempt: the attempt.
            late: it opens a turn, instead of answering the call.
        """
        started = fold(self._bench.journal.events).attempts[attempt.attempt].started
        log = Path(attempt.log)
        return render(
            "attempt_result.md.j2",
            target=self._bench.target(started.target),
            chips=started.chips,
            commit=started.commit,
            output=log.read_bytes()[-_LOG_TAIL:].decode(errors="replace")
            if log.exists()
            else "(there is no log)",
            late=late,
            **attempt.model_dump(
                include={"outcome", "cause", "summary", "exit_code", "timed_out", "wall_s", "usd", "gates"}
            ),
        )

    async def _attempt(self, target: str, chips: int, command: str | None) -> AttemptFinished:
        bench = self._bench
        commit = await asyncio.to_thread(
            bench.repository.snapshot, "The agent's worktree at a run on a target"
        )
        name = bench.next_attempt()
        bench.journal.append(
            AttemptStarted,
            attempt=name,
            by="agent",
            target=target,
            chips=chips,
            commit=commit,
            command=command or bench.workload.train_command(bench.workload.targets[target]),
            purpose="run_on_target",
        )
        run = await bench.runner.train(
            name,
            commit,
            target=target,
            seed=secrets.randbelow(2**31 - 1),
            plan=Plan(mode="watch", values=False),
            chips=chips,
            command=command,
        )
        gates = await bench.verifier.cheap_gates(name, target, chips, commit, run) if run.ok else []
        fields = attempt_fields(
            name,
            run,
            [g for g in gates if g.verdict is not Verdict.NOT_REACHED],
            bench.target(target).usd_per_hour,
        )
        return bench.journal.append(AttemptFinished, **fields)
