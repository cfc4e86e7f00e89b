"""One process on the host, in the styles that training programs are written in: `variants.py STYLE [ARGS]`."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def dataset(size=96):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(size, 8, generator=generator)
    return TensorDataset(x, (x[:, :3] * 2).argmax(1))


def model():
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.5), nn.Linear(16, 3))


def loader(**options):
    return DataLoader(dataset(), batch_size=8, shuffle=True, **options)


criterion = nn.functional.cross_entropy


def plain(options=None, net=None, optimizer=None):
    net = net or model()
    optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader(**(options or {})):
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()


def accumulate():
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for index, (x, y) in enumerate(loader()):
        (criterion(net(x), y) / 4).backward()
        if index % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def closure():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader():

        def evaluate(x=x, y=y):
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            return loss

        optimizer.step(evaluate)


def fused():
    net = model()
    plain(net=net, optimizer=torch.optim.AdamW(net.parameters(), lr=0.01, fused=True))


def groups():
    net = model()
    parts = [{"params": net[0].parameters()}, {"params": net[3].parameters(), "lr": 0.5, "weight_decay": 0.1}]
    plain(net=net, optimizer=torch.optim.SGD(parts, lr=0.1, momentum=0.9, foreach=True))


def workers():
    plain({"num_workers": 2, "persistent_workers": True})


def no_loader():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = dataset().tensors
    x = torch.from_numpy(x.numpy().astype("float32"))
    for _ in range(3):
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()


def evaluation_first():
    """Evaluates before and between, without no_grad around the loop, and looks at one training batch."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train, test = loader(), DataLoader(dataset(24), batch_size=12)

    def evaluate():
        net.eval()
        for x, y in test:
            with torch.no_grad():
                print("accuracy", (net(x).argmax(1) == y).double().mean().item())
        net.train()

    evaluate()
    print(next(iter(train))[0].shape)
    for epoch in range(2):
        for index, (x, y) in enumerate(train):
            optimizer.zero_grad()
            criterion(net(x), y).backward()
            optimizer.step()
            if index == 3:
                evaluate()
            if index == 5 and epoch == 0:
                break
        evaluate()


def two_optimizers():
    """A generator and a discriminator: two models, two steps for each batch, two backward passes on one loss."""
    maker, judge = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 1))
    makes = torch.optim.Adam(maker.parameters(), lr=0.01)
    judges = torch.optim.Adam(judge.parameters(), lr=0.01)
    sure = nn.functional.binary_cross_entropy_with_logits
    for x, _ in loader():
        fake = maker(torch.ones(len(x), 4))
        judges.zero_grad()
        sure(judge(x), torch.ones(len(x), 1)).backward()
        sure(judge(fake.detach()), torch.zeros(len(x), 1)).backward()
        judges.step()
        makes.zero_grad()
        sure(judge(fake), torch.ones(len(x), 1)).backward()
        makes.step()


def evaluation_mode():
    """Fine-tuning with the whole model in evaluation mode."""
    net = model().eval()
    plain(net=net)


def checkpoint():
    plain()
    torch.save(model().state_dict(), sys.argv[2])


def leaves():
    plain()
    sys.exit(3)


def fails():
    plain()
    raise RuntimeError("as programs do")


def explodes():
    net = model()
    plain(net=net, optimizer=torch.optim.SGD(net.parameters(), lr=float("inf")))


def casts():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for x, y in loader():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(net(x.float()), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
