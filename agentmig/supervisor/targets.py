"""Targets as the journal keeps them, with what their hours cost."""

from typing import Literal

from agentmig.journal.events import TargetRecord
from agentmig.spec import PriceBook
from agentmig.spec.workload import Reference, Target


def target_record(name: str, target: Target, prices: PriceBook) -> TargetRecord:
    """A target as the journal keeps it, with what its hours cost."""
    # An emulated target runs on this machine's CPU, whatever accelerator and chips it stands in for.
    accelerator = "cpu" if target.emulated else target.accelerator
    price = prices.accelerators.get(accelerator)
    chips = 1 if target.emulated else target.chips
    return TargetRecord(
        name=name,
        backend=target.backend,
        accelerator=target.accelerator,
        chips=target.chips,
        emulated=target.emulated,
        description=target.description,
        usd_per_hour=price.usd_per_chip_hour * chips if price else None,
        price_source=f"{accelerator}: {price.source} ({price.date})"
        if price
        else f"the price book lacks {accelerator!r}",
    )


def reference_record(reference: Reference, prices: PriceBook) -> TargetRecord:
    """The reference's hardware as a target."""
    backend: Literal["cpu", "cuda"] = "cpu" if reference.accelerator == "cpu" else "cuda"
    as_target = Target(
        backend=backend,
        environment=reference.environment,
        accelerator=reference.accelerator,
        chips=reference.chips,
    )
    record = target_record("reference", as_target, prices)
    if backend == "cpu" and record.usd_per_hour is not None:  # processes of one machine, not machines
        record = record.model_copy(update={"usd_per_hour": record.usd_per_hour / reference.chips})
    return record
