"""The probe: what runs inside the workload's own training processes.

It needs the standard library and torch alone, imports nothing of agentmig, and is loaded by path under the module
name `agentmig_probe` (`loader.PTH_LINE`), so that the workload's environment needs no installation of ours.

- `imports` waits until the program imports torch (and torch_xla); a process that never does is left alone.
- `handshake` tells who this process is, `trace` writes what it does, `plan` says what is wanted.
- `observe` sees backward passes, clipping and reductions; `steps` writes one fingerprint for each optimizer step.
- `batches` and `leaves` record what DataLoaders yield, or put the recorded batches in its place.
- `state` and `compare` record or load parameters, and measure how far two runs are apart.
- `precision` takes both sides to float64 and dropout out of them; `marks` notes checkpoints and seeds.
- `backends` reads each backend's counters; `backends/bridge` emulates several XLA chips over gloo.
- `finish` ends the process after the wished number of steps and writes the last line.

An exception in a hook of ours becomes a `probe_error` line of the trace: the program goes on, and the verification
that reads the trace knows.
"""

SCHEMA = 1
