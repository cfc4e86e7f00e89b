import re
from pathlib import Path

import pytest

from agentmig.drafting.cuda import cuda_uses
from agentmig.drafting.findings import Hazard
from agentmig.drafting.hazard_rules import NAMES, PACKAGES
from agentmig.drafting.hazards import find_hazards, unwatched
from agentmig.failures import CAUSES
from tests.drafting.programs import module_of, program_of


def _hazards(text: str) -> dict[str, Hazard]:
    reach = program_of("import torch\n" + text).reach
    found = find_hazards(reach.modules, cuda_uses(reach.modules), reach.packages, ["ops/kernel.cu"])
    return {hazard.name: hazard for hazard in found}


@pytest.mark.parametrize(
    ("text", "name", "cause"),
    [
        ("model.cuda()", "CUDA device", "cuda_unavailable"),
        ("s = torch.cuda.amp.GradScaler()", "GradScaler", "clip_on_scaled"),
        ("with torch.autocast('cuda'): pass", "autocast", "numerics_differ"),
        ("torch.cuda.manual_seed_all(1)", "CUDA seeds", "seed_ignored"),
        ("torch.manual_seed(1)", "seeds of the device", "seed_ignored"),
        ("torch.backends.cudnn.benchmark = True", "cuDNN flags", None),
        ("torch.set_float32_matmul_precision('high')", "matmul precision", "numerics_differ"),
        ("m = torch.compile(m)", "torch.compile", "compile_error"),
        ("m = torch.nn.DataParallel(m)", "DataParallel", "idle_chips"),
        ("torch.distributed.init_process_group('nccl')", "NCCL", "process_group"),
        ("torch.utils.data.distributed.DistributedSampler(d)", "DistributedSampler", "same_data"),
        ("i = mask.nonzero()\nj = torch.unique(x)", "dynamic shapes", "recompilation"),
        ("torch.utils.data.DataLoader(d, shuffle=True)", "last batch", "recompilation"),
        ("for x in y:\n    loss.backward()\n    total += loss.item()", "host sync in each step", "host_sync"),
        ("o = torch.optim.SGD(model.parameters())\nmodel.to(device)", "optimizer before the move", "parameters_not_updated"),
        ("m = torch.nn.parallel.DistributedDataParallel(m)\ntorch.nn.utils.clip_grad_norm_(p, 1)", "gradient clipping", "clip_before_reduction"),
        ("try:\n    import flash_attn\nexcept ImportError:\n    pass", "flash_attn", "module_missing"),
        ("import triton", "triton", "unsupported_operation"),
        ("x = 1", "CUDA source", "unsupported_operation"),
    ],
)  # fmt: skip
def test_hazards_and_their_causes(text: str, name: str, cause: str | None) -> None:
    assert _hazards(text)[name].cause == cause


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "for x in y:\n    loss.backward()\n    if i % 10 == 0:\n        print(loss.item())",
            "host sync in each step",
        ),
        ("model.to(device)\no = torch.optim.SGD(model.parameters())", "optimizer before the move"),
        ("torch.utils.data.DataLoader(d, shuffle=True, drop_last=True)", "last batch"),
        ("torch.utils.data.DataLoader(d)", "last batch"),
        ("torch.nn.utils.clip_grad_norm_(p, 1)", "gradient clipping"),
        ("torch.cuda.is_available()", "torch.cuda"),
    ],
)
def test_what_is_harmless(text: str, name: str) -> None:
    assert name not in _hazards(text)


def test_a_kind_is_told_once_with_its_first_place() -> None:
    hazard = _hazards("a.cuda()\nb.cuda()\n")["CUDA device"]
    assert (hazard.file, hazard.line, hazard.count) == ("train.py", 2, 2)


def test_every_cause_is_one_of_the_taxonomy() -> None:
    sources = Path(find_hazards.__code__.co_filename).read_text()
    names = {rule.cause for rule in NAMES} | {cause for _, cause in PACKAGES.values()}
    names |= set(re.findall(r'"([a-z]+(?:_[a-z]+)+)", (?:use\.place|module\.place|place|Place)', sources))
    assert len(names) > 15
    assert names - {None} <= set(CAUSES)


def test_what_a_verification_can_not_watch() -> None:
    plain = "for x in batches():\n    loss.backward()\n"
    assert [seen.cause for seen in unwatched([module_of(plain)], uses_trainer=False)] == [
        "batches_unmatched",
        "no_optimizer_step",
    ]
    assert list(unwatched([module_of(plain)], uses_trainer=True)) == []
    usual = (
        "import torch\nfrom torch.utils.data import DataLoader\nl = DataLoader(d)\no = torch.optim.SGD(p)\n"
    )
    assert list(unwatched([module_of(usual)], uses_trainer=False)) == []
