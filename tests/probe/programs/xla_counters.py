"""Trains a few steps on XLA and prints the runtime's own counters."""

import json

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.metrics as met
import torch_xla.distributed.parallel_loader as pl
from torch.utils.data import DataLoader, TensorDataset

device = torch_xla.device()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
for _ in range(2):
    for x, y in pl.MpDeviceLoader(DataLoader(data, batch_size=8), device):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        xm.optimizer_step(optimizer)
    loss.item()
names = ("CompileTime", "ExecuteTime", "TransferFromDeviceTime")
print(json.dumps({name: (met.metric_data(name) or [0])[0] for name in names}))
