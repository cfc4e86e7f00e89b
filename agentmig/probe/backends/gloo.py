"""A private gloo group beside the program's own process groups, for collectives of the bridge."""

import datetime
import os
import threading
from collections.abc import Sequence
from typing import Any

import torch

Tensor = Any

_HEADER = 256


class BridgeError(RuntimeError):
    """A collective of the emulated chips failed: ranks disagree, or one never came."""


class GlooWorld:
    """All ranks of the emulation; each operation is checked to be the same on every rank, and bounded in time.

    Args:
        rank: this process's.
        size: number of ranks.
        timeout_s: how long a collective may wait for the other ranks.
    """

    def __init__(self, rank: int, size: int, timeout_s: float) -> None:
        self.rank = rank
        self.size = size
        self.timeout_s = timeout_s
        self._timeout = datetime.timedelta(seconds=timeout_s)
        self._group: Any = None
        self._lock = threading.RLock()
        self._sent: dict[int, int] = {}
        self._received: dict[int, int] = {}

    def _connected(self) -> Any:
        """The group, made at the first use: a program that only imports torch_xla needs no peers."""
        if self._group is None:
            from torch import distributed

            # Under torchrun its agent serves the store; otherwise rank 0 does, for this and for the program's own.
            agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
            store = distributed.TCPStore(
                os.environ.get("MASTER_ADDR", "127.0.0.1"),
                int(os.environ.get("MASTER_PORT", "29500")),
                self.size,
                is_master=self.rank == 0 and not agent,
                timeout=self._timeout,
                wait_for_workers=False,
                multi_tenant=True,
            )
            attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
            prefixed = distributed.PrefixStore(f"agentmig_bridge/{attempt}", store)
            self._group = distributed.ProcessGroupGloo(prefixed, self.rank, self.size, self._timeout)
        return self._group

    def _wait(self, operation: str, start: Any) -> Any:
        try:
            work = start(self._connected())
            work.wait(self._timeout)
        except RuntimeError as error:
            raise BridgeError(
                f"emulated XLA chips: {operation} on rank {self.rank} got no answer from all {self.size} ranks within "
                f"{self.timeout_s:g} s. Another rank has ended, or waits in another collective; each rank must call "
                f"the same collectives in the same order. ({error})"
            ) from error
        return work

    def _gather(self, operation: str, tensor: Tensor) -> list[Tensor]:
        outputs = [torch.empty_like(tensor) for _ in range(self.size)]
        self._wait(operation, lambda group: group.allgather([outputs], [tensor]))
        return outputs

    def _check(self, operation: str) -> None:
        """Compare what the ranks are about to do: gloo itself would hang, or mix the bytes of two operations."""
        text = operation.encode()[:_HEADER]
        mine = torch.zeros(_HEADER, dtype=torch.uint8)
        mine[: len(text)] = torch.tensor(list(text), dtype=torch.uint8)
        told = [
            bytes(t.tolist()).rstrip(b"\0").decode(errors="replace") for t in self._gather(operation, mine)
        ]
        if any(other != told[self.rank] for other in told):
            listing = "; ".join(f"rank {rank}: {what}" for rank, what in enumerate(told))
            raise BridgeError(f"emulated XLA chips: the ranks don't call the same collective ({listing})")

    def all_gather(self, operation: str, tensor: Tensor) -> list[Tensor]:
        """Every rank's tensor, in the order of ranks; shapes and dtypes must agree.

        Args:
            operation: what the program called, for the check and for messages.
            tensor: on the host.
        """
        with self._lock:
            value = tensor.detach().contiguous()
            self._check(f"{operation} {tuple(value.shape)} {value.dtype}")
            raw = value.reshape(-1).view(torch.uint8) if value.numel() else torch.zeros(0, dtype=torch.uint8)
            if not value.numel():
                return [value.clone() for _ in range(self.size)]
            return [part.view(value.dtype).reshape(value.shape) for part in self._gather(operation, raw)]

    def all_gather_bytes(self, operation: str, payload: bytes) -> list[bytes]:
        """Every rank's bytes, of any length."""
        with self._lock:
            sizes = [int(t) for t in self.all_gather(operation, torch.tensor([len(payload)]))]
            longest = max(sizes)
            if longest == 0:
                return [b""] * self.size
            padded = torch.zeros(longest, dtype=torch.uint8)
            if payload:
                padded[: len(payload)] = torch.frombuffer(bytearray(payload), dtype=torch.uint8)
            parts = self.all_gather(operation, padded)
            return [bytes(p[:size].numpy().tobytes()) for p, size in zip(parts, sizes, strict=True)]

    def exchange(self, tensor: Tensor, pairs: Sequence[Sequence[int]]) -> Tensor:
        """Send to and receive from the ranks that (source, target) pairs name; zeros where nothing is sent here."""
        with self._lock:
            value = tensor.detach().contiguous()
            result = torch.zeros_like(value)
            group = self._connected()
            works = []
            for source, target in pairs:
                if source == target == self.rank:
                    result = value.clone()
                elif source == self.rank:
                    self._sent[target] = self._sent.get(target, 0) + 1
                    works.append(group.send([value], target, self._sent[target]))
                elif target == self.rank:
                    self._received[source] = self._received.get(source, 0) + 1
                    works.append(group.recv([result], source, self._received[source]))
            for work in works:
                self._wait("collective_permute", lambda _group, work=work: work)
            return result
