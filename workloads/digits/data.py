"""The handwritten digits that ship with scikit-learn: 1,797 images of 8 x 8 pixels."""

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import TensorDataset

TEST_SHARE = 1 / 3
SPLIT_SEED = 2024  # Part of the task, not of a run: every seed is judged on the same 599 images.


def load_split() -> tuple[TensorDataset, TensorDataset]:
    """Returns the training set (1,198 images) and the test set (599 images).

    Each item is a float image of shape (1, 8, 8), scaled to [-1, 1], and an integer label.
    """
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
    labels = torch.tensor(digits.target, dtype=torch.int64)
    train, test = train_test_split(
        range(len(labels)), test_size=TEST_SHARE, random_state=SPLIT_SEED, stratify=digits.target
    )
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])
