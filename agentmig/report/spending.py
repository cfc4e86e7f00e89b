"""Tokens and money: over time, against the budget, and each figure with its source."""

from collections.abc import Iterable

from agentmig.journal.events import Event, SessionEnded, Turn, Usage
from agentmig.journal.fold import State
from agentmig.journal.view import CostView
from agentmig.report.evidence import as_number
from agentmig.report.model import BudgetLine, CostLine, Spending, Spent
from agentmig.report.text import dollars, number

CLASSES = tuple(Usage.model_fields)
"""The classes of tokens, as Anthropic counts them."""


def spending(events: Iterable[Event], state: State, cost: CostView) -> Spending:
    """Everything that was spent.

    Args:
        events: of the run.
        state: folded from them.
        cost: the same state's figures with their sources.
    """
    turns, cli = _over_time(events, state)
    return Spending(over_time=turns, cli_usd=cli, costs=costs(cost), budget=_budget(state))


def _over_time(events: Iterable[Event], state: State) -> tuple[list[Spent], list[tuple[float, float]]]:
    tokens = dict.fromkeys(CLASSES, 0)
    split: dict[str, float] | None = dict.fromkeys(CLASSES, 0.0)
    usd: float | None = 0.0
    cli_total = 0.0
    turns: list[Spent] = []
    cli: list[tuple[float, float]] = []
    # A response that arrived twice counts once, in its last form.
    last = {id(turn) for turn in state.turns.values()}
    for event in events:
        zero = state.started.time if state.started else event.time
        at = max(0.0, (event.time - zero).total_seconds())
        if isinstance(event, Turn) and id(event) in last:
            tokens = {name: count + getattr(event.usage, name) for name, count in tokens.items()}
            usd = None if usd is None or event.usd is None else usd + event.usd
            if split is not None:
                known = set(event.usd_by_class) == set(CLASSES)
                split = {n: v + event.usd_by_class[n] for n, v in split.items()} if known else None
            turns.append(Spent(at_s=at, tokens=tokens, usd=usd, usd_by_class=split))
        elif isinstance(event, SessionEnded) and event.cli_usd is not None:
            cli_total += event.cli_usd
            cli.append((at, cli_total))
    return turns, cli


def costs(cost: CostView) -> list[CostLine]:
    """The ledger, a line for each kind of cost."""
    lines = [
        CostLine(kind="agent", amount=dollars(cost.agent_usd), source=cost.agent_usd_source),
        CostLine(kind="compute", amount=dollars(cost.compute_usd), source=cost.compute_usd_source),
        CostLine(kind="people", amount=f"{number(cost.human_minutes)} min", source=cost.human_minutes_source),
    ]
    if cost.cli_usd is not None:
        own = CostLine(
            kind="agent, by the CLI",
            amount=dollars(cost.cli_usd),
            source="Claude Code's own figure, for comparison",
        )
        lines.insert(1, own)
    return lines


def _budget(state: State) -> list[BudgetLine]:
    """Each bound with what was spent of it; in the order of the workload file."""
    if state.started is None:
        return []
    spent = {
        "agent_usd": state.agent_usd,
        "compute_usd": state.compute_usd,
        "turns": float(len(state.turns)),
        "tokens": float(state.usage.total),
        "wall_hours": state.wall_s / 3600,
        "human_minutes": state.human_minutes,
    }
    bounds = state.started.budget
    return [
        BudgetLine(name=name, spent=spent[name], bound=as_number(bound))
        for name, bound in bounds.items()
        if name in spent
    ]
