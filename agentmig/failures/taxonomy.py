"""Every cause that agentmig can name. `docs/causes.md` shows this table to people."""

from dataclasses import dataclass
from typing import Literal

Fault = Literal["code", "infrastructure", "conduct"]
Kind = Literal["loud", "silent", "cheat", "open"]


@dataclass(frozen=True)
class Cause:
    """Why something failed, or could not be judged.

    Attributes:
        name: used in journals and reports; never changes its meaning.
        kind: `loud`: the run stopped with an error; `silent`: it ran, and did something else; `cheat`: the experiment or
            the verification was touched; `open`: no verdict is possible.
        fault: `code`: the migrated program; `infrastructure`: the machine or network; `conduct`: what the agent did
            besides migrating.
        meaning: one sentence.
        advice: what to look at, for the agent.
    """

    name: str
    kind: Kind
    fault: Fault
    meaning: str
    advice: str


def _loud(name: str, meaning: str, advice: str, fault: Fault = "code") -> Cause:
    return Cause(name, "loud", fault, meaning, advice)


def _silent(name: str, meaning: str, advice: str) -> Cause:
    return Cause(name, "silent", "code", meaning, advice)


def _cheat(name: str, meaning: str, advice: str) -> Cause:
    return Cause(name, "cheat", "conduct", meaning, advice)


def _open(name: str, meaning: str, advice: str) -> Cause:
    return Cause(name, "open", "code", meaning, advice)


_ALL = [
    # Runs that stop with an error.
    _loud(
        "cuda_unavailable",
        "CUDA is called where there is none.",
        "Find what still moves tensors, modules, streams or generators to CUDA (`.cuda()`, `torch.cuda.*`, a device "
        'written as "cuda", pinned memory) and use the target\'s device.',
    ),
    _loud(
        "device_unavailable",
        "The device that the code asks for doesn't exist in this process.",
        "Ask the backend for its device instead of naming one, and look at the environment variables that choose the "
        "runtime.",
    ),
    _loud(
        "process_group",
        "The process group is missing, was made twice, or asks for a backend that is not there.",
        "Look at `init_process_group`: it runs once, before the first collective, with the target's backend; wrappers such "
        "as DistributedDataParallel need it.",
    ),
    _loud(
        "module_missing",
        "A module that is imported isn't installed in the target's environment.",
        "Import it only where it exists, or do without it; the environment is declared in the workload file.",
    ),
    _loud(
        "import_error",
        "A module lacks a name that is imported from it.",
        "Look up what the installed version offers.",
    ),
    _loud("syntax_error", "The source isn't valid Python.", "Compile the file that the message names."),
    _loud(
        "unknown_name",
        "The code uses a name or attribute that doesn't exist.",
        "Look at the last frames of the traceback, and at what the installed version offers.",
    ),
    _loud(
        "dtype_mismatch",
        "Tensors of different number types, or a type that the backend lacks, meet in one operation.",
        "Look at where inputs, autocast and parameters get their types.",
    ),
    _loud(
        "device_mismatch",
        "Tensors on different devices meet in one operation.",
        "Move model, batch and everything that is made on the way (masks, targets, states) to one device.",
    ),
    _loud(
        "shape_mismatch",
        "The shapes of an operation don't fit.",
        "Look at the batch's shape for each replica, and at the last batch of an epoch.",
    ),
    _loud(
        "compile_error",
        "The backend's compiler refuses the graph, or fails inside.",
        "Find the operation that the message names; replace it or take it out of the compiled part.",
    ),
    _loud(
        "unsupported_operation",
        "The backend doesn't implement an operation.",
        "Write it with operations that the backend has.",
    ),
    _loud(
        "out_of_device_memory",
        "The accelerator's memory is full.",
        "Look at the batch for each chip, at tensors kept across steps, and at graphs that are never cut.",
    ),
    _loud(
        "out_of_host_memory",
        "The machine's memory is full, or the kernel killed the process for it.",
        "Look at the number of loader workers, at data loaded once for each process, and at lists that grow.",
    ),
    _loud(
        "collective_timeout",
        "A collective operation waited in vain for another rank.",
        "All ranks must reach the same collectives in the same order: look for one under `if rank == 0`, for loaders of "
        "different length, and for a rank that ended early.",
    ),
    _loud(
        "rank_died",
        "A process was ended by a signal.",
        "Look for native crashes (out-of-range access, wrong use of a runtime in several processes) in the last lines "
        "before it.",
    ),
    _loud(
        "file_missing",
        "A file or folder that the code opens isn't there.",
        "Use the paths that the command line gives; data is where the workload file says.",
    ),
    _loud(
        "not_permitted",
        "The code reads or writes where it may not.",
        "Write only below the output folder.",
    ),
    _loud(
        "no_network",
        "The code needs the network, which runs don't have.",
        "Use the data and packages that are there.",
    ),
    _loud("assertion", "An assertion of the code failed.", "Look at what it asserts."),
    _loud(
        "wrong_usage",
        "The program's command line refuses its arguments.",
        "The train and evaluate commands are the workload file's: the program must go on accepting them.",
    ),
    _loud(
        "wrong_value",
        "A function was called with arguments that it refuses.",
        "Look at the last frames of the traceback.",
    ),
    _loud("exception", "Another exception ended the program.", "Look at the last frames of the traceback."),
    _loud(
        "timed_out",
        "The run was not over within its time.",
        "Look for a wait without end, for work on the host that belongs on the device, and for recompilation in each step.",
    ),
    _loud(
        "nonzero_exit",
        "The program ended with an error code and no traceback.",
        "Look at the last lines of the log.",
    ),
    _loud(
        "disk_full",
        "The disk is full.",
        "Nothing in the code need change; the run can be repeated.",
        "infrastructure",
    ),
    _loud(
        "teardown_crash",
        "A library's own thread was still running when a process ended, after the program's work (gloo does so now and then).",
        "Nothing in the code need change; the run can be repeated.",
        "infrastructure",
    ),
    _loud(
        "connection_lost",
        "The connection to a machine was lost.",
        "Nothing in the code need change; the run can be repeated.",
        "infrastructure",
    ),
    _loud(
        "supervisor_gone",
        "The supervisor itself was interrupted while the run went on, so nobody saw its end.",
        "Nothing in the code need change; the run can be repeated.",
        "infrastructure",
    ),
    _loud(
        "preempted",
        "The machine was taken away.",
        "Nothing in the code need change; the run can be repeated.",
        "infrastructure",
    ),
    _loud(
        "port_in_use",
        "The port for the ranks' meeting was taken by another program.",
        "Nothing in the code need change, unless it chooses a port of its own; the run can be repeated.",
        "infrastructure",
    ),
    _loud(
        "device_busy",
        "Another process holds the accelerator.",
        "Nothing in the code need change, unless it starts several processes that each open all chips.",
        "infrastructure",
    ),
    # Runs that end well and are incomplete.
    _silent(
        "rank_missing",
        "Fewer processes took part than the target has.",
        "Look at how the ranks are started: each must import torch in the target's environment and train.",
    ),
    _silent(
        "no_optimizer_step",
        "No optimizer made a step.",
        "Training must go through `torch.optim` optimizers' `step()`.",
    ),
    _silent(
        "too_few_steps",
        "The run made fewer optimizer steps than the reference.",
        "Epochs, global batch and the size of the data must be those of the reference: look at the sampler and at what is "
        "dropped.",
    ),
    _silent(
        "too_many_steps",
        "The training goes on after the reference's has ended.",
        "Epochs, global batch and the size of the data must be those of the reference.",
    ),
    _silent(
        "checkpoint_missing",
        "The run left no checkpoint where the workload file says.",
        "Look at which rank saves, and where.",
    ),
    _silent(
        "trace_damaged",
        "What the ranks reported can't be read.",
        "Nothing but the verifier's own instruments may write their files; each rank needs a process of its own.",
    ),
    # Another computation.
    _silent(
        "clip_before_reduction",
        "Gradients are clipped before they are averaged over the replicas.",
        "Gradients are clipped before they are averaged over the replicas: each replica's own gradient is clipped, so the "
        "applied gradient is smaller than intended and points elsewhere. Average first, then clip, then step; note "
        "that some `optimizer_step` helpers average inside.",
    ),
    _silent(
        "gradients_not_reduced",
        "Gradients are not averaged over the replicas.",
        "Each replica trains on its own: reduce the gradients over all replicas before the optimizer's step, in every path "
        "of the code.",
    ),
    _silent(
        "gradients_summed",
        "Gradients are summed over the replicas where the reference averages them.",
        "Look at the scale of the reduction: a sum over the replicas must be divided by their number.",
    ),
    _silent(
        "gradients_divided",
        "Gradients are divided by the number of replicas once too often.",
        "Look for a division by the world size (of the loss, or in the reduction) on top of an average.",
    ),
    _silent(
        "reduced_twice",
        "Gradients are reduced over the replicas twice.",
        "Look for a wrapper, a hook or an `optimizer_step` helper that reduces what was reduced before.",
    ),
    _silent(
        "accumulation_denominator",
        "Accumulated gradients are divided by the wrong number of micro-batches.",
        "Look at where the loss is divided by the number of accumulation steps: exactly once.",
    ),
    _silent(
        "loss_scaled",
        "The loss is multiplied by a constant.",
        "Look for a factor on the loss, such as a world size or a weight.",
    ),
    _silent(
        "zero_grad_missing",
        "Gradients of earlier steps are not cleared.",
        "Look at `zero_grad`: once for each optimizer step, on the optimizer that steps, on every path.",
    ),
    _silent(
        "clip_missing",
        "Gradients are not clipped any more.",
        "The reference clips the gradient's norm: so must the migrated code, on the averaged gradients.",
    ),
    _silent(
        "clip_threshold",
        "Gradients are clipped to another norm.",
        "Use the reference's threshold and kind of norm.",
    ),
    _silent("clip_added", "Gradients are clipped where the reference doesn't.", "Leave out the clipping."),
    _silent(
        "clip_on_scaled",
        "Gradients are clipped while they still carry the loss scale.",
        "Take the scale off the gradients before clipping, or drop the scaler where the target needs none.",
    ),
    _silent(
        "learning_rate",
        "The learning rate differs by a constant factor.",
        "Look at what scales the learning rate: the global batch is unchanged, so the learning rate must be too.",
    ),
    _silent(
        "schedule",
        "The learning rate's schedule runs differently.",
        "Look at where the scheduler is stepped (once for each optimizer step, or epoch, as in the reference) and at how the "
        "number of steps is computed.",
    ),
    _silent("optimizer_changed", "Another optimizer is used.", "Use the reference's optimizer."),
    _silent(
        "hyperparameter_changed",
        "A hyperparameter of the optimizer differs.",
        "Use the reference's hyperparameters, in each parameter group.",
    ),
    _silent(
        "weight_decay",
        "The weight decay differs.",
        "Use the reference's weight decay, in each parameter group.",
    ),
    _silent(
        "batch_size",
        "The number of samples in a step differs.",
        "The global batch must be the reference's: each replica takes its share of it, not all.",
    ),
    _silent(
        "parameters_frozen",
        "Fewer parameters are trained than in the reference.",
        "Look at `requires_grad`, and at what is handed to the optimizer after the model moved to its device.",
    ),
    _silent(
        "parameters_added",
        "More parameters are trained than in the reference.",
        "Look at `requires_grad`, at layers added or widened, and at whether parameters that were shared are still shared.",
    ),
    _silent(
        "model_changed",
        "The model has another number of parameters.",
        "Keep the model's architecture, and the sharing of its parameters.",
    ),
    _silent(
        "parameters_not_updated",
        "The optimizer's steps don't change the parameters.",
        "Look at the order: the model must be on its device before the optimizer is made; gradients must be there when it "
        "steps.",
    ),
    _silent(
        "replicas_differ",
        "The replicas' weights are not the same.",
        "Look at how the weights are made equal at the start (broadcast, or the same seed) and at what each replica "
        "changes by itself.",
    ),
    _silent(
        "eval_mode",
        "Training runs in evaluation mode, or the reverse.",
        "Look at `model.train()` and `model.eval()`.",
    ),
    _silent(
        "dropout_changed",
        "Dropout has another probability, or is active at other places.",
        "Look at the model's dropout layers and at attention's and recurrent layers' dropout arguments.",
    ),
    _silent(
        "dropout_repeated",
        "The same dropout mask is drawn again: in each step, or on all replicas.",
        "Look for a seed that is set inside of the loop, and at how the device's generator is seeded on each replica.",
    ),
    _silent(
        "autocast_changed",
        "Mixed precision is on where the reference has none, or off where it has.",
        'Look at `autocast`: its device type must be the target\'s (`"cuda"` does nothing on another device), its dtype one '
        "that the target has.",
    ),
    _silent(
        "initialisation_changed",
        "The program draws its initial weights from another distribution.",
        "Initialise as the reference does; another generator may draw other numbers, but not others of another size.",
    ),
    _silent(
        "data_changed",
        "Training takes other samples, or samples that hold something else.",
        "Look at the dataset, at the sampler (a smaller last batch, replicas' shares), and at what is done to a sample.",
    ),
    _silent(
        "not_reshuffled",
        "Each epoch takes the samples in the same order, where the reference reshuffles them.",
        "Call the sampler's `set_epoch`, and let the generator go on between epochs.",
    ),
    _silent(
        "evaluation_changed",
        "The evaluation within the training takes other samples than the reference's.",
        "Every sample of the held-out set must count once, over all replicas, the smaller last batch included.",
    ),
    _silent(
        "checkpoint_changed",
        "What is saved isn't what the reference saves at this place.",
        "Save the weights that the reference saves (an average, the best epoch's), on the CPU, in full precision, with "
        "buffers.",
    ),
    _silent(
        "loss_changed",
        "The loss differs for the same weights and the same batch.",
        "Look at the loss function and its reduction, at the forward pass, and at how a batch is prepared.",
    ),
    _silent(
        "gradient_changed",
        "The gradient differs for the same weights, the same batch and the same loss.",
        "Look at what happens to gradients between backward and the optimizer's step, and at parts that are detached or "
        "computed without gradients.",
    ),
    _silent(
        "update_changed",
        "The optimizer's update differs for the same gradient.",
        "Look at the optimizer, its hyperparameters, and at anything that changes weights after the step.",
    ),
    _silent(
        "diverged",
        "The steps part from the reference's.",
        "Compare what happens in the step that is named, in the order loss, gradient, clipping, update.",
    ),
    _silent(
        "not_finite",
        "A loss or a norm is not a finite number where the reference's is.",
        "Look at number types, at the loss scale, at masks with infinities, and at divisions.",
    ),
    _silent(
        "numerics_differ",
        "On the device, in the precision of production, steps are further from the reference than rounding explains.",
        "Look at number types and at the precision of matrix products.",
    ),
    _silent(
        "precision_lowered",
        "Parameters, gradients or optimizer state have a narrower number type than in the reference.",
        "Keep master weights and optimizer state in the reference's type; cast only what the reference casts.",
    ),
    # Another place.
    _silent(
        "wrong_device",
        "The work was done on another kind of device than the target's.",
        "Look at how the device is chosen, and at what happens where the runtime finds none.",
    ),
    _silent(
        "idle_chips",
        "Fewer chips work than the target has.",
        "Look at how many processes train and which device each takes.",
    ),
    _silent(
        "cpu_fallback",
        "Operations of each step run on the host instead of the device.",
        "Replace the operations that are named by ones that the backend compiles.",
    ),
    _silent(
        "same_data",
        "Replicas train on the same samples.",
        "Give the sampler the target's own world size and rank.",
    ),
    # Another result, or one too dear.
    _silent(
        "goal_worse",
        "The goal metric is worse than the reference's by more than the margin.",
        "Each step may look right: look at data, augmentation, evaluation mode, the length of training, and the checkpoint.",
    ),
    _silent(
        "evaluation_failed",
        "The base commit's evaluation can't use the checkpoint.",
        "The checkpoint must load, with its names and shapes, in the untouched project's evaluation on its own hardware.",
    ),
    _silent(
        "recompilation",
        "Graphs are compiled again after warm-up.",
        "Look for shapes that change, for Python numbers that enter the graph (a step, a learning rate), and for graphs cut "
        "in varying places.",
    ),
    _silent(
        "host_sync",
        "Values travel from the device to the host in every step.",
        "Look for `.item()`, `float()`, printing, or conditions on tensors in the training loop; do them every N steps.",
    ),
    _silent(
        "slow",
        "The throughput is below what was asked for.",
        "Look at the input pipeline, the batch for each chip, and syncs.",
    ),
    _silent(
        "expensive",
        "A run costs more than what was asked for.",
        "Look at throughput, and at time outside of steps.",
    ),
    # The experiment or the verification was touched.
    _cheat(
        "protected_changed",
        "Protected files were changed.",
        "Undo the changes to data, evaluation and metric; they are the reference's in every verification.",
    ),
    _cheat(
        "planted_file",
        "Files were added that change what programs do when they start, or that lead out of the project.",
        "Remove them.",
    ),
    _cheat(
        "probe_tampering",
        "The code addresses the instruments that watch it.",
        "Remove it: migrated code must not know that it is watched.",
    ),
    _cheat(
        "seed_ignored",
        "Runs with different seeds are the same run.",
        "The seed of the command line must reach every generator, also the device's own.",
    ),
    # No verdict.
    _open(
        "budget_spent",
        "The budget was spent before every gate had its run.",
        "Nothing in the code need change; a person decides whether to spend more.",
    ),
    _open(
        "state_unmatched",
        "The candidate's weights can't be set to the reference's, so steps can't be compared.",
        "Keep the names, or the order and shapes, of the model's parameters.",
    ),
    _open(
        "batches_unmatched",
        "The reference's batches can't be fed to the candidate, so steps can't be compared.",
        "Feed training from a torch DataLoader with batches of the reference's structure.",
    ),
    _open(
        "draws_unmatched",
        "The random numbers that training draws in its steps can't be matched, so steps can't be compared.",
        "Draw them where the reference does, in the same shapes, with torch's own functions.",
    ),
    _open(
        "reference_not_reproducible",
        "Two runs of the reference from the same seed, weights and batches differ.",
        "Nothing in the code need change; a person has to make the reference reproducible.",
    ),
    _open(
        "nothing_to_compare",
        "There is nothing that could be compared.",
        "Training must compute its loss with autograd and step with `torch.optim`.",
    ),
    _open(
        "reference_unusable",
        "The reference itself has no usable value.",
        "Nothing in the code need change; a person has to look at the reference.",
    ),
    _open(
        "goal_undecided",
        "The runs so far show neither that the metric is as good nor that it is worse.",
        "Nothing in the code need change for this; more runs would decide.",
    ),
    _open(
        "no_counters",
        "The backend tells nothing of what has to be judged.",
        "Nothing in the code need change; a person has to look at the machine.",
    ),
]

CAUSES: dict[str, Cause] = {cause.name: cause for cause in _ALL}
"""All causes by name."""


def advice(cause: str) -> str:
    """What the agent is told about a cause.

    Raises:
        KeyError: no such cause.
    """
    return CAUSES[cause].advice
