from agentmig.spec.workload import Target


def _target(backend: str, emulated: bool, chips: int = 4) -> Target:
    return Target.model_validate(
        {"backend": backend, "environment": "e", "accelerator": "v5e", "chips": chips, "emulated": emulated}
    )


def test_an_emulated_target_says_so_and_a_real_one_does_not() -> None:
    assert _target("xla", emulated=True).description.startswith("EMULATED xla, 4 chips of v5e")
    assert "gloo ranks on the CPU stand in for TorchTPU" in _target("torch_tpu", emulated=True).description
    assert _target("xla", emulated=False, chips=1).description == "xla on 1 chip of v5e"
