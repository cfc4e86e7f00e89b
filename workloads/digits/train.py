"""Trains DigitNet on one or more GPUs; without a GPU it trains on CPUs, with gloo.

torchrun --nproc-per-node 4 train.py --seed 0 --out runs/0
"""

import argparse
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from data import load_split
from model import DigitNet

USE_CUDA = torch.cuda.is_available()


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoints")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the initial weights and of the order of the data"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64, help="over all GPUs together")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--clip", type=float, default=0.25, help="largest norm of the gradient")
    parser.add_argument("--warmup", type=int, default=36, help="steps until the learning rate is reached")
    parser.add_argument("--save-every", type=int, default=5, help="epochs between checkpoints to resume from")
    parser.add_argument("--resume", type=Path, help="a checkpoint.pt to go on from")
    return parser.parse_args()


def setup_distributed() -> tuple[int, int, torch.device]:
    """Joins the process group that torchrun describes; returns rank, world size and this rank's device."""
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if USE_CUDA:
        torch.cuda.set_device(local_rank)
        device = torch.device("cuda", local_rank)
    else:
        device = torch.device("cpu")
    if "RANK" not in os.environ:
        return 0, 1, device
    dist.init_process_group("nccl" if USE_CUDA else "gloo")
    return dist.get_rank(), dist.get_world_size(), device


def schedule(warmup: int, total: int) -> Callable[[int], float]:
    """Returns the factor on the learning rate for each step: a linear warm-up, then half a cosine."""

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    return factor


def train_step(
    model: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    clip: float,
) -> torch.Tensor:
    """Makes one step of the optimizer; returns the loss of this rank's share of the batch."""
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", enabled=USE_CUDA):
        loss = F.cross_entropy(model(images), labels)
    scaler.scale(loss).backward()
    # DistributedDataParallel has averaged the gradients by now: this is the norm over the global batch.
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


def mean_over_ranks(value: torch.Tensor, world: int) -> float:
    if world > 1:
        dist.all_reduce(value)
    return value.item() / world


def save(state: dict, path: Path) -> None:
    torch.save(state, path)


def main() -> None:
    args = parse_args()
    rank, world, device = setup_distributed()
    if args.batch_size % world:
        raise SystemExit(f"--batch-size {args.batch_size} can't be split evenly over {world} processes")
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    train_set, _ = load_split()
    sampler = DistributedSampler(train_set, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(
        train_set, batch_size=args.batch_size // world, sampler=sampler, drop_last=True, pin_memory=USE_CUDA
    )

    model = DigitNet()
    if USE_CUDA:
        model.cuda()
    network = model
    if dist.is_initialized():
        network = DistributedDataParallel(model, device_ids=[device.index] if USE_CUDA else None)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay
    )
    steps = args.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule(args.warmup, steps))
    scaler = torch.amp.GradScaler("cuda", enabled=USE_CUDA)

    first_epoch = 0
    if args.resume:
        state = torch.load(args.resume, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        scaler.load_state_dict(state["scaler"])
        first_epoch = state["epoch"]

    for epoch in range(first_epoch, args.epochs):
        started = time.perf_counter()
        sampler.set_epoch(epoch)
        total = torch.zeros(1).to(device)
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            total += train_step(network, images, labels, optimizer, scaler, args.clip)
            scheduler.step()
        loss = mean_over_ranks(total, world) / len(loader)
        if rank == 0:
            seconds = time.perf_counter() - started
            print(f"epoch {epoch + 1:2d}/{args.epochs}  loss {loss:.4f}  {seconds:.2f} s", flush=True)
            if (epoch + 1) % args.save_every == 0:
                state = {
                    "epoch": epoch + 1,
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(),
                    "scaler": scaler.state_dict(),
                }
                save(state, args.out / "checkpoint.pt")

    if rank == 0:
        save({name: tensor.cpu() for name, tensor in model.state_dict().items()}, args.out / "model.pt")
        print(f"saved {args.out / 'model.pt'}", flush=True)
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
