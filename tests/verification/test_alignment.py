from agentmig.journal.events import Verdict
from agentmig.spec.workload import Semantics
from agentmig.verification.alignment import aligned
from agentmig.verification.gates.semantics import judge
from agentmig.verification.traces import World
from tests.verification.parallel import Program, train


def world(size: int, losses: list[float]) -> World:
    made = train(Program(world=size, steps=2, path=("mean",)))
    for rank, trace in made.ranks.items():
        trace.steps = [step.model_copy(update={"loss": losses[rank]}) for step in trace.steps]
    return made


def test_one_process_stands_for_each_replica() -> None:
    reference, candidate = aligned(world(1, [2.0]), world(4, [1.0, 3.0, 2.0, 2.0]))
    assert sorted(reference.ranks) == sorted(candidate.ranks) == [0, 1, 2, 3]
    assert reference.missing == []
    assert {step.loss for trace in candidate.ranks.values() for step in trace.steps} == {2.0}
    assert reference.samples(0) == reference.ranks[0].steps[0].samples * 4  # type: ignore[operator]


def test_worlds_of_one_size_stay_as_they_are() -> None:
    for size in (1, 4):
        old, new = world(size, [1.0] * size), world(size, [1.0] * size)
        assert aligned(old, new) == (old, new)


def test_a_rank_that_applies_another_gradient_is_found() -> None:
    reference, candidate = world(1, [2.0]), world(2, [1.0, 3.0])
    steps = reference.ranks[0].steps
    for trace in candidate.ranks.values():
        trace.optimizers = reference.ranks[0].optimizers
        trace.steps = [
            step.model_copy(update={"loss": own.loss, "samples": (step.samples or 0) // 2})
            for step, own in zip(steps, trace.steps, strict=True)
        ]
    assert judge("xla", reference, candidate, Semantics()).verdict is Verdict.PASS
    wrong = candidate.ranks[1].steps
    wrong[1] = wrong[1].model_copy(update={"grad_norm": 7.0})
    result = judge("xla", reference, candidate, Semantics())
    assert (result.verdict, result.evidence["first_divergence"]["rank"]) == (Verdict.FAIL, 1)
