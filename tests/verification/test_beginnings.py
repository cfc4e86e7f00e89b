import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.verification.beginnings import findings
from agentmig.verification.records import Initial
from agentmig.verification.traces import RankTrace, World


def numbers(values: list[float]) -> tuple[int, float, float, float]:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return len(values), mean, spread, max(map(abs, values))


def normal(seed: int, count: int = 2000, spread: float = 0.1, mean: float = 0.0) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(mean, spread) for _ in range(count)]


def uniform(seed: int, count: int = 2000, spread: float = 0.1) -> list[float]:
    draw = random.Random(seed)
    return [draw.uniform(-spread * math.sqrt(3), spread * math.sqrt(3)) for _ in range(count)]


def world(*digests: str, **tensors: list[float]) -> World:
    made = World(Path("none"))
    for rank, digest in enumerate(digests):
        described = {name: numbers(values) for name, values in tensors.items()}
        made.ranks[rank] = RankTrace(rank, initial=[Initial(digest=digest, tensors=described)])
    return made


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.sampled_from([40, 300, 3000]))
def test_another_draw_of_the_same_distribution_is_no_finding(a: int, b: int, count: int) -> None:
    for draw in (normal, uniform):
        assert findings(world("a", w=draw(a, count)), world("b", w=draw(b, count))) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (normal(2, spread=0.2), "standard deviation"),
        (normal(2, mean=0.05), "mean"),
        (uniform(2), "another distribution"),
        ([0.0] * 2000, "mean 0 and standard deviation 0"),
    ],
)
def test_another_distribution_is_found(values: list[float], words: str) -> None:
    (finding,) = findings(world("a", w=normal(1)), world("b", w=values))
    assert finding.cause == "initialisation_changed"
    assert words in finding.summary


def test_constants_must_be_the_same() -> None:
    assert findings(world("a", w=[1.0] * 4), world("b", w=[1.0] * 4)) == []
    (finding,) = findings(world("a", w=[1.0] * 4), world("b", w=[0.0] * 4))
    assert finding.cause == "initialisation_changed"


def test_renamed_tensors_are_compared_in_their_order() -> None:
    assert findings(world("a", w=normal(1), v=normal(2, 50)), world("b", x=normal(3), y=normal(4, 50))) == []
    (finding,) = findings(world("a", w=normal(1)), world("b", x=normal(3, spread=1.0)))
    assert "weights of x" in finding.summary


def test_replicas_must_begin_alike_where_the_reference_s_do() -> None:
    (finding,) = findings(world("a", "a"), world("b", "c"))
    assert finding.cause == "replicas_differ"
    assert findings(world("a", "b"), world("c", "d")) == []
    assert findings(world("a"), world("c", "c")) == []
