"""A Lightning module and its Trainer: accumulation, clipping, a schedule, validation, a checkpoint."""

import os
import sys

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = int(os.environ.get("ACCUMULATE", "1"))


def dataset(size, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, 8, generator=generator)
    return TensorDataset(x, (x[:, :3] * 2).argmax(1))


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 3))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("accuracy", (self.net(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


lightning.seed_everything(int(sys.argv[2]))
trainer = lightning.Trainer(
    accelerator="cpu",
    devices=int(os.environ.get("DEVICES", "1")),
    strategy="ddp" if "DEVICES" in os.environ else "auto",
    max_epochs=2,
    accumulate_grad_batches=ACCUMULATE,
    gradient_clip_val=0.5,
    default_root_dir=sys.argv[1],
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
train = DataLoader(dataset(64, 3), batch_size=8, shuffle=True)
trainer.fit(Classifier(), train, DataLoader(dataset(32, 4), batch_size=16))
print(trainer.callback_metrics)
