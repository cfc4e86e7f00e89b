"""Collectives of emulated chips, by the names that programs use."""

import os
import sys

import torch
import torch.distributed as dist
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.xla_multiprocessing as xmp
import torch_xla.runtime as xr
from torch_xla.core.xla_model import all_reduce

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch_xla.device()


def on_device(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype).to(device)


def check(tensor, *values):
    assert tensor.device.type == "xla", tensor
    assert tensor.flatten().tolist() == list(values), (tensor, values)


def everything(index):
    assert (index, xr.world_size(), xr.global_ordinal(), xr.local_ordinal()) == (rank, size, rank, rank)
    assert (xr.global_device_count(), xr.process_count(), xr.process_index()) == (size, size, rank)
    assert xm.is_master_ordinal() == (rank == 0)
    check(all_reduce("sum", on_device(rank + 1.0), scale=0.5), 5.0)
    check(xm.all_reduce(xm.REDUCE_MUL, on_device(rank + 1.0)), 24.0)
    check(xm.all_reduce(xm.REDUCE_MIN, on_device(rank - 1, dtype=torch.int64)), -1)
    check(xm.all_reduce(xm.REDUCE_MAX, on_device(rank + 1.0, dtype=torch.bfloat16)), 4.0)
    check(xm.all_reduce(xm.REDUCE_OR, on_device(rank, dtype=torch.int32)), 3)
    check(xm.all_reduce(xm.REDUCE_AND, on_device(rank == 0, True, dtype=torch.bool)), False, True)
    check(
        xm.all_reduce(xm.REDUCE_SUM, on_device(rank + 1.0), groups=[[0, 1], [2, 3]]), 3.0 if rank < 2 else 7.0
    )
    pair = [on_device(1.0, rank), on_device(rank, dtype=torch.int64)]
    assert xm.all_reduce(xm.REDUCE_SUM, pair) is pair
    check(pair[0], 4.0, 6.0)
    check(pair[1], 6)
    check(xm.all_gather(on_device(rank, 9.0)), 0, 9, 1, 9, 2, 9, 3, 9)
    check(xm.reduce_scatter(xm.REDUCE_SUM, on_device(1.0, 2.0, 3.0, 4.0), 1.0, 0, 4), 4.0 * (rank + 1))
    check(
        xm.all_to_all(on_device(*[rank * 10.0 + i for i in range(4)]), 0, 0, 4),
        *[10.0 * i + rank for i in range(4)],
    )
    check(xm.collective_permute(on_device(float(rank)), [[0, 1], [1, 0]]), {0: 1.0, 1: 0.0}.get(rank, 0.0))
    value = on_device(float(rank))
    xm.collective_broadcast([value], root_ordinal=2)
    check(value, 2.0)
    model = torch.nn.Linear(2, 1).to(device)
    xm.broadcast_master_param(model)
    assert len(set(xm.mesh_reduce("weights", model.weight.sum().item(), list))) == 1
    assert xm.rendezvous("here", bytes([rank] * rank)) == [bytes([i] * i) for i in range(size)]
    print("collectives agree")


def disagree():
    if rank == 0:
        xm.all_gather(on_device(1.0))
    else:
        xm.all_reduce(xm.REDUCE_SUM, on_device(1.0))


def distributed():
    dist.init_process_group("xla", init_method="xla://")
    assert (dist.get_rank(), dist.get_world_size()) == (rank, size)
    value = on_device(rank + 1.0)
    dist.all_reduce(value)
    check(value, 3.0)
    parts = [on_device(0.0) for _ in range(size)]
    dist.all_gather(parts, on_device(float(rank)))
    check(torch.cat(parts), 0.0, 1.0)
    model = torch.nn.Linear(16, 2)
    model = torch.nn.parallel.DistributedDataParallel(model.to(device), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.full((4, 16), rank + 1.0).to(device)).sum().backward()
    optimizer.step()
    weights = [torch.zeros(2, 16).to(device) for _ in range(size)]
    dist.all_gather(weights, model.module.weight.detach())
    assert torch.equal(weights[0].cpu(), weights[1].cpu())
    print("distributed agrees")


if __name__ == "__main__":
    if sys.argv[1] == "all":
        xmp.spawn(everything)
    else:
        globals()[sys.argv[1]]()
