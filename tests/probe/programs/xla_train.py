"""The same training moved to torch_xla: MpDeviceLoader, xm.optimizer_step, modules renamed, other seeds."""

import os
import sys

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.runtime as xr
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

FAULT = os.environ.get("FAULT", "")


class Renamed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2))
        self.classifier = nn.Linear(32, 4)

    def forward(self, x):
        return self.classifier(self.features(x))


def make_optimizer(model):
    if os.environ.get("OPTIMIZER", "sgd") == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def data(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(256, 16, generator=generator, dtype=torch.float32)
    y = (x[:, :4] * 3).argmax(1)
    return TensorDataset(x, y)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()
    model.train()
    return xm.mesh_reduce("hits", hits, sum) / 64 / xr.world_size()


def run(index):
    device = torch_xla.device()
    torch.manual_seed(77)
    world = xr.world_size()
    train, test = data(1), torch.utils.data.Subset(data(2), range(64))
    sampler = DistributedSampler(train, num_replicas=world, rank=xr.global_ordinal(), shuffle=True, seed=5)
    loader = pl.MpDeviceLoader(DataLoader(train, batch_size=16, sampler=sampler), device)
    tests = pl.MpDeviceLoader(DataLoader(test, batch_size=32), device)
    model = Renamed().to(device)
    xm.broadcast_master_param(model)
    optimizer = make_optimizer(model)
    criterion = nn.CrossEntropyLoss()
    print("before", evaluate(model, tests))
    for epoch in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            if FAULT == "clip_first":
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                xm.optimizer_step(optimizer)
            else:
                xm.reduce_gradients(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
        xm.master_print("epoch", epoch, loss.item())
        print(evaluate(model, tests))
    if len(sys.argv) > 2:
        xm.save(model.state_dict(), sys.argv[2])


if __name__ == "__main__":
    torch_xla.launch(run)
