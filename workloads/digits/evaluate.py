"""Prints the accuracy of a checkpoint on the test set; one process, on a GPU if there is one."""

import argparse

import torch
from torch.utils.data import DataLoader

from data import load_split
from model import DigitNet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", required=True, help="a model.pt that train.py wrote")
    parser.add_argument("--batch-size", type=int, default=256)
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = DigitNet()
    model.load_state_dict(torch.load(args.checkpoint, map_location="cpu", weights_only=True))
    model.to(device).eval()

    _, test_set = load_split()
    correct = 0
    with torch.no_grad():
        for images, labels in DataLoader(test_set, batch_size=args.batch_size):
            predictions = model(images.to(device)).argmax(dim=1).cpu()
            correct += int((predictions == labels).sum())
    print(f"accuracy: {correct / len(test_set):.4f}")


if __name__ == "__main__":
    main()
