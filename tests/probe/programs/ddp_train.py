"""A CUDA-style training program: DDP under torchrun, clipping that binds, BatchNorm, dropout, evaluation first."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.body(x))


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
    return hits / 64


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(int(os.environ.get("SEED", "0")))
    train, test = data(1), torch.utils.data.Subset(data(2), range(64))
    sampler = DistributedSampler(train, shuffle=True, seed=0)
    loader = DataLoader(train, batch_size=16, sampler=sampler)
    tests = DataLoader(test, batch_size=32)
    model = DistributedDataParallel(Net())
    optimizer = make_optimizer(model)
    criterion = nn.CrossEntropyLoss()
    print("before", evaluate(model, tests))
    for epoch in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        print("epoch", epoch, loss.item(), evaluate(model, tests))
    if dist.get_rank() == 0 and len(sys.argv) > 2:
        torch.save(model.module.state_dict(), sys.argv[2])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
