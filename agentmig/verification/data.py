"""Rules on the data: which samples each pass over a loader takes, what they hold, in which order.

In a match the batches are replaced by the reference's, so a fault of the data shows in no loss: it shows here, in what the
program's own loaders asked for. Passes over all replicas are looked at together, since another share of the same samples
is no other data.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from agentmig.verification.findings import Finding
from agentmig.verification.records import Pass
from agentmig.verification.traces import World

_MODULUS = 1 << 64
_SEEN_TWICE = 5
"""So many samples must have been seen twice before their content counts as fixed (or not)."""
_ALIKE = 0.3
"""Samples that hold the same in both programs, in this share, show that the content is fixed."""
_FEW = 8
_PARTS = ("numbers", "labels")


@dataclass(frozen=True)
class Loader:
    """One of a program's loaders, over all replicas.

    Attributes:
        passes: complete passes by number: of each rank.
    """

    passes: dict[int, list[Pass]]

    def covered(self) -> list[tuple[int, int]]:
        """Samples and multiset of each pass; replicas that all take the same (an evaluation on each) count once."""
        found = []
        for _, parts in sorted(self.passes.items()):
            if len({(part.samples, part.indices) for part in parts}) == 1:
                parts = parts[:1]
            total = sum(int(part.indices or "0", 16) for part in parts) % _MODULUS
            found.append((sum(part.samples for part in parts), total))
        return found

    def orders(self) -> list[tuple[str, ...]]:
        """Order of the samples in each pass, on every rank."""
        return [tuple(part.order for part in parts) for _, parts in sorted(self.passes.items())]

    def contents(self) -> dict[str, list[tuple[str, str]]]:
        """What each sample was seen to hold, by index."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for parts in self.passes.values():
            for part in parts:
                for index, hashes in part.content.items():
                    found[index].append(hashes)
        return found


def loaders(world: World, training: bool) -> list[Loader]:
    """The loaders of one kind in the order of their first passes; only passes that every rank made."""
    by_loader: dict[int, dict[int, list[Pass]]] = defaultdict(lambda: defaultdict(list))
    for _, trace in sorted(world.ranks.items()):
        for seen in trace.passes:
            if seen.training is training and seen.samples:
                by_loader[seen.loader][seen.number].append(seen)
    return [
        Loader({number: parts for number, parts in passes.items() if len(parts) == len(world.ranks)})
        for _, passes in sorted(by_loader.items())
    ]


def findings(reference: World, candidate: World) -> list[Finding]:
    """What is wrong with the candidate's data, the plainest first."""
    found: list[Finding] = []
    for training in (True, False):
        for old, new in zip(loaders(reference, training), loaders(candidate, training), strict=False):
            rules = _of_training(reference, candidate, old, new) if training else _of_evaluation(old, new)
            found += [finding for finding in (*rules, _content(old, new, training)) if finding]
    return found


def _of_training(reference: World, candidate: World, old: Loader, new: Loader) -> Iterator[Finding | None]:
    yield _same_on_replicas(old, new)
    sizes = {len(reference.ranks), len(candidate.ranks)}
    padding = max(sizes) - 1 if len(sizes) > 1 else 0
    yield _coverage(old, new, "data_changed", "An epoch of training", padding)
    yield _not_reshuffled(old, new)


def _of_evaluation(old: Loader, new: Loader) -> Iterator[Finding | None]:
    yield _coverage(old, new, "evaluation_changed", "The evaluation within the training", 0)


def _same_on_replicas(old: Loader, new: Loader) -> Finding | None:
    """Replicas that take the same samples in the same order, where the reference's take different ones."""
    if not new.orders() or any(len(set(order)) == 1 < len(order) for order in old.orders()):
        return None
    alike = [number for number, order in enumerate(new.orders()) if len(set(order)) == 1 < len(order)]
    if not alike:
        return None
    ranks = len(new.orders()[alike[0]])
    why = f"All {ranks} replicas take the same samples in the same order in epoch {alike[0]}; the reference's take different ones."
    return Finding("same_data", why, evidence={"epochs": alike})


def _coverage(old: Loader, new: Loader, cause: str, what: str, padding: int) -> Finding | None:
    """Other samples, or another number of them, in a pass to its end."""
    before = [c for c, done in zip(old.covered(), _complete(old), strict=True) if done]
    after = [c for c, done in zip(new.covered(), _complete(new), strict=True) if done]
    if not before or not after:
        return None
    counts = {count for count, _ in before}
    if len(counts) == 1:
        expected = next(iter(counts))
        wrong = next((count for count, _ in after if abs(count - expected) > padding), None)
        if wrong is not None:
            why = f"{what} takes {wrong} samples; the reference's takes {expected}."
            return Finding(cause, why, evidence={"reference": expected, "candidate": wrong})
    sets = {total for _, total in before}
    if len(sets) == 1 and (len(before) > 1 or cause == "evaluation_changed") and not padding:
        other = [number for number, (_, total) in enumerate(after) if total not in sets]
        if other:
            why = f"{what} takes other samples than the reference's, though as many ({after[0][0]}): in pass {other[0]}."
            return Finding(cause, why, evidence={"passes": other})
    return None


def _complete(loader: Loader) -> list[bool]:
    return [all(part.complete for part in parts) for _, parts in sorted(loader.passes.items())]


def _not_reshuffled(old: Loader, new: Loader) -> Finding | None:
    """The same order in every epoch, where the reference has another one in each."""
    before, after = old.orders(), new.orders()
    if len(before) < 2 or len(after) < 2 or len(set(before)) < len(before) or len(set(after)) > 1:
        return None
    why = (
        f"Each of the {len(after)} epochs takes the samples in the same order; the reference reshuffles them."
    )
    return Finding("not_reshuffled", why, evidence={"epochs": len(after)})


def _content(old: Loader, new: Loader, training: bool) -> Finding | None:
    """Samples that hold something else than the reference's samples of the same index."""
    theirs, mine = old.contents(), new.contents()
    common = sorted(set(theirs) & set(mine), key=lambda index: (len(index), index))
    what = "training" if training else "evaluation"
    for part, name in enumerate(_PARTS):
        twice = [index for index in theirs if len(theirs[index]) > 1]
        fixed = [index for index in twice if len({hashes[part] for hashes in theirs[index]}) == 1]
        if twice and len(fixed) < len(twice):
            continue  # augmented: no sample holds the same twice
        same = [i for i in common if theirs[i][0][part] == mine[i][0][part]]
        differing = [i for i in common if theirs[i][0][part] != mine[i][0][part]]
        known = len(twice) >= _SEEN_TWICE or len(same) >= max(1.0, _ALIKE * len(common))
        if not known or len(common) < _FEW or not differing:
            continue
        everything = {hashes[part] for values in theirs.values() for hashes in values}
        if part == 0 and all(mine[index][0][part] in everything for index in differing):
            continue  # the same samples under other numbers
        why = (
            f"{len(differing)} of {len(common)} samples of the {what} data hold other {name} than in the reference, such as "
            f"sample {differing[0]}."
        )
        cause = "data_changed" if training else "evaluation_changed"
        evidence = {"part": name, "compared": len(common), "differing": differing[:20]}
        return Finding(cause, why, evidence=evidence)
    return None
