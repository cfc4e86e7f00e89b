"""Imports torch deep inside, trains one step."""


def main():
    import torch

    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    (parameter * 2).sum().backward()
    optimizer.step()


main()
