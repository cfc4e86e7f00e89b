import pytest

from agentmig.drafting.environments import Environments, environments
from agentmig.drafting.findings import Place
from agentmig.drafting.requirements import find_requirements


def _made(text: str, *imports: str) -> Environments:
    declared = find_requirements({"requirements.txt": text}, None)
    return environments(declared, {name: Place("train.py", 1) for name in imports}, "mine")


@pytest.mark.parametrize(
    ("declared", "torch", "warned"),
    [
        ("numpy\n", "torch==2.9.0", False),
        ("torch\n", "torch==2.9.0", False),
        ("torch>=1.7\n", "torch==2.9.0", False),
        ("torch==2.9.1\n", "torch==2.9.1", False),
        ("torch==2.4.1\n", "torch==2.4.1", True),
        ("torch<2.5\n", "torch<2.5", True),
        ("torch>=2.10\n", "torch>=2.10", True),
        ("torch==1.7.1+cu101\n", "torch==2.9.0", True),
    ],
)
def test_the_torch_of_the_reference(declared: str, torch: str, warned: bool) -> None:
    made = _made(declared)
    assert made.base[0].text == torch
    assert bool(made.warnings) is warned
    assert [line.text for line in made.xla[:2]] == ["torch==2.9.0", "torch_xla==2.9.0"]


def test_what_is_imported_and_not_declared_is_added() -> None:
    made = _made("torch\nscikit-learn\npytest\nmine\n", "torch", "sklearn", "cv2", "PIL")
    assert [line.text for line in made.base] == [
        "torch==2.9.0",
        "scikit-learn",
        "opencv-python-headless",
        "pillow",
    ]
    assert made.base[2].why == "imported at train.py:1"


def test_what_only_nvidia_gpus_have_is_left_out_on_the_target() -> None:
    made = _made("torch==2.4.1\nflash-attn\nnvidia-cublas-cu12==12.1\ntorchvision==0.19.1\n")
    assert [line.text for line in made.base][1:] == [
        "flash-attn",
        "nvidia-cublas-cu12==12.1",
        "torchvision==0.19.1",
    ]
    assert [line.text for line in made.xla][2:] == ["torchvision==0.24.0"]
    assert made.dropped == ("flash-attn", "nvidia-cublas-cu12==12.1")


def test_companions_follow_our_torch() -> None:
    made = _made("torch==1.13\ntorchvision==0.14\n")
    assert [line.text for line in made.base] == ["torch==2.9.0", "torchvision==0.24.0"]


def test_of_a_lock_file_only_what_is_imported_is_taken() -> None:
    lock = "torch==2.9.0\nnumpy==1.26.4\n" + "".join(f"other{n}==1.0\n" for n in range(40))
    made = _made(lock, "torch", "numpy")
    assert [line.text for line in made.base] == ["torch==2.9.0", "numpy==1.26.4"]
    assert "lock file" in made.warnings[0]
