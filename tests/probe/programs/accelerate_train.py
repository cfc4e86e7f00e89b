"""A loop of one's own with accelerate: prepared objects, accumulation, clipping, a schedule, evaluation."""

import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def dataset(size, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, 8, generator=generator)
    return TensorDataset(x, (x[:, :3] * 2).argmax(1))


set_seed(int(sys.argv[2]))
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=int(os.environ.get("ACCUMULATE", "1")))
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
train = DataLoader(dataset(64, 3), batch_size=8, shuffle=True)
test = DataLoader(dataset(32, 4), batch_size=16)
model, optimizer, train, test, schedule = accelerator.prepare(model, optimizer, train, test, schedule)

for epoch in range(2):
    model.train()
    for x, y in train:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()
    hits = 0
    for x, y in test:
        with torch.no_grad():
            guesses, labels = accelerator.gather_for_metrics((model(x).argmax(1), y))
        hits += (guesses == labels).sum().item()
    accelerator.print(f"epoch {epoch}: accuracy {hits / 32:.3f}")
accelerator.save_state(sys.argv[1])
