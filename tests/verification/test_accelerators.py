import pytest

from agentmig.verification.accelerators import is_declared


@pytest.mark.parametrize(
    ("accelerator", "kind", "told"),
    [
        ("a100", "NVIDIA A100-SXM4-40GB", True),
        ("h100-80gb", "NVIDIA H100 80GB HBM3", True),
        ("rtx4090", "NVIDIA GeForce RTX 4090", True),
        ("t4", "Tesla T4", True),
        ("cpu", "CPU", True),
        ("l4", "NVIDIA L40S", False),
        ("a100", "NVIDIA H100 PCIe", False),
        ("a100", "CPU", False),
        ("cpu", "NVIDIA A100-SXM4-40GB", False),
        ("p4d", "NVIDIA A100-SXM4-40GB", None),
        ("a100-80gb", "NVIDIA A100-SXM4-40GB", None),
        ("cpu", "unknown", None),
        ("a100", "", None),
    ],
)
def test_a_device_is_told_from_the_declared_one_where_the_names_can_tell(
    accelerator: str, kind: str, told: bool | None
) -> None:
    assert is_declared(accelerator, kind) is told
