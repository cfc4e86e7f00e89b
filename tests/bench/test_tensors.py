import json
import subprocess
from pathlib import Path

import pytest

from agentmig.bench.plain import Distance

# Makes checkpoints and compares each with the first, in one process: importing torch takes longer than all of it.
PROGRAM = """
import collections, importlib.util, json, sys, torch
spec = importlib.util.spec_from_file_location("tensors", sys.argv[1])
tensors = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tensors)
w, n, nan = torch.tensor([3.0, 4.0]), torch.tensor(7), float("nan")
clean = {"model": {"w": w, "n": n}, "steps": [torch.zeros(2, dtype=torch.float64), 3, None, nan]}

def changed(w=w, n=n, **more):
    return {"model": collections.OrderedDict(n=n, w=w), "steps": clean["steps"], **more}

others = {
    "same": changed(),
    "away": changed(w=w + torch.tensor([0.0, 0.5])),
    "counted": changed(n=n + 1),
    "shape": changed(w=w[None]),
    "dtype": changed(w=w.half()),
    "nan": changed(w=torch.tensor([3.0, nan])),
    "more": changed(extra=w),
    "value": changed(steps=[clean["steps"][0], 4, None, nan]),
}
found = {name: tensors.compare(clean, other) for name, other in others.items()}
found["nan twice"] = tensors.compare(others["nan"], others["nan"])
found["zeros"] = tensors.compare({"w": w * 0}, {"w": w * 0})
found["from zeros"] = tensors.compare({"w": w * 0}, {"w": w})
torch.save(clean, sys.argv[2] + "/clean.pt")
torch.save(others["away"], sys.argv[2] + "/away.pt")
print(json.dumps(found))
"""


@pytest.mark.torch
def test_checkpoints_are_compared_tensor_by_tensor(ref_python: Path, tmp_path: Path) -> None:
    script = Path("agentmig/bench/tensors.py").resolve()
    argv = [str(ref_python), "-c", PROGRAM, str(script), str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    found = {name: Distance.model_validate(value) for name, value in json.loads(done.stdout).items()}
    assert found["same"] == found["nan twice"] == found["zeros"] == Distance(relative=0.0)
    assert found["away"].relative == pytest.approx(0.1)
    assert found["away"].problem is None
    problems = {
        "counted": "model.n differs, which holds no floating-point numbers",
        "shape": "model.w is torch.float32 [1, 2], not torch.float32 [2]",
        "dtype": "model.w is torch.float16 [2], not torch.float32 [2]",
        "nan": "model.w has other places that aren't finite",
        "more": "only one of the checkpoints has extra",
        "value": "steps[1] is 4, not 3",
        "from zeros": "all zeros once",
    }
    assert {name: found[name].problem for name in problems} == problems
    (tmp_path / "broken.pt").write_text("no checkpoint")
    for other, relative in (("away.pt", pytest.approx(0.1)), ("broken.pt", None)):
        files = [str(tmp_path / name) for name in ("clean.pt", other)]
        done = subprocess.run(
            [str(ref_python), "-I", str(script), *files], capture_output=True, text=True, check=True
        )
        said = Distance.model_validate_json(done.stdout)
        assert said.relative == relative
        assert bool(said.problem) == (relative is None)
