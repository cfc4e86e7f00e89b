"""A reference of one process beside a candidate of several, brought to the same ranks.

Each replica took its share of the reference's batches, so the mean of the replicas' losses is the reference's loss, and
every replica must apply the reference's gradient.
"""

from dataclasses import replace

from agentmig.verification.traces import World


def aligned(reference: World, candidate: World) -> tuple[World, World]:
    """Both worlds, so that they can be compared rank by rank.

    Args:
        reference: a record.
        candidate: a run that was matched to it.

    Returns:
        Both as they are, unless the reference has one rank and the candidate more: then the reference's rank stands for
        each of them, and the candidate's losses are their mean over the replicas.
    """
    size = len(candidate.ranks)
    if reference.size != 1 or size < 2 or 0 not in reference.ranks:
        return reference, candidate
    only = reference.ranks[0]
    steps = [
        step.model_copy(update={"samples": step.samples // size if step.samples else step.samples})
        for step in only.steps
    ]
    ranks = {rank: replace(only, rank=rank, steps=steps) for rank in candidate.ranks}
    handshakes = {
        rank: reference.handshakes[0].model_copy(update={"rank": rank, "world_size": size})
        for rank in candidate.ranks
        if 0 in reference.handshakes
    }
    means = [candidate.loss(number) for number in range(candidate.count)]
    mine = {
        rank: replace(
            trace,
            steps=[
                step.model_copy(update={"loss": means[n] if n < len(means) else step.loss})
                for n, step in enumerate(trace.steps)
            ],
        )
        for rank, trace in candidate.ranks.items()
    }
    return (
        World(reference.folder, handshakes, ranks, reference.damage),
        World(candidate.folder, candidate.handshakes, mine, candidate.damage),
    )
