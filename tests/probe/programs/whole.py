"""A whole small training: epochs, evaluation, schedule, clipping, dropout, an averaged model, checkpoints; FAULT breaks it."""

import copy
import os
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAULT = os.environ.get("FAULT", "")
NOISE = bool(os.environ.get("NOISE"))  # drawn in the training's steps
OUT = sys.argv[1]
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1


class Points(Dataset):
    """150 points for training, 61 for evaluation: the last batch is a smaller one."""

    def __init__(self, train):
        generator = torch.Generator().manual_seed(3 if train else 4)
        self.x = torch.randn(150 if train else 61, 8, generator=generator)
        self.y = (self.x[:, :3] * 2).argmax(1)
        if train and FAULT == "label_noise":
            self.y[::5] = (self.y[::5] + 1) % 3
        if train and FAULT == "fewer_samples":
            self.x, self.y = self.x[:144], self.y[:144]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class SameOrder:
    """A sampler that never reshuffles."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __iter__(self):
        return iter(torch.randperm(self.size, generator=torch.Generator().manual_seed(0)).tolist())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 64)
        self.norm = nn.BatchNorm1d(64)
        self.drop = nn.Dropout(0.1 if FAULT == "dropout" else 0.3)
        self.last = nn.Linear(64, 3)
        if FAULT == "initialisation":
            nn.init.normal_(self.first.weight, std=1.0)

    def forward(self, x):
        hidden = torch.tanh(self.norm(self.first(x)))
        if NOISE and self.training:
            noise = torch.randn(hidden.shape, dtype=torch.float32)  # which the float64 pass must widen
            hidden = hidden + 0.1 * noise
        return self.last(self.drop(hidden))


def main():
    torch.manual_seed(SEED)
    train, test = Points(True), Points(False)
    sampler = SameOrder(len(train)) if FAULT == "not_reshuffled" else None
    loader = DataLoader(
        train,
        16 if FAULT != "micro" else 8,
        shuffle=sampler is None,
        sampler=sampler,
        drop_last=FAULT == "drop_last",
    )
    held_out = DataLoader(test, 16, drop_last=FAULT == "evaluation_tail")
    net = Net()
    average = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for epoch in range(4):
        net.train()
        for index, (x, y) in enumerate(loader):
            if FAULT == "mask":
                torch.manual_seed(0)
            if FAULT == "other_generator":
                torch.manual_seed(1000 + 10 * epoch + index)  # as another device's generator would draw
            if FAULT == "unseeded":
                x = x + torch.from_numpy(np.random.default_rng().normal(size=x.shape))
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            if FAULT == "own_clipping":
                norm = torch.sqrt(sum((p.grad**2).sum() for p in net.parameters()))
                for p in net.parameters():
                    p.grad.mul_(torch.clamp(100.0 / norm, max=1.0))
            elif FAULT != "no_clipping":
                torch.nn.utils.clip_grad_norm_(net.parameters(), 100.0)  # never binds by itself
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for mine, theirs in zip(average.parameters(), net.parameters(), strict=True):
                    mine.lerp_(theirs, 0.5 if FAULT == "average" else 0.1)
        if FAULT != "evaluates_in_training":
            net.eval()
        with torch.no_grad():
            right = sum(int((net(x).argmax(1) == y).sum()) for x, y in held_out)
        print(epoch, loss.item(), right, flush=True)
        if FAULT != "schedule":
            scheduler.step()
    state = average.state_dict()
    if FAULT == "half_precision":
        state = {name: tensor.bfloat16() for name, tensor in state.items()}
    torch.save(state, Path(OUT) / "model.pt")


main()
