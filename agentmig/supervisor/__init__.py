"""The loop over a migration.

`decide` is pure: from the state and the policy to the next action. `actions` names the actions, `migrate` performs
them, `toolbox` is what the agent's three tools do, `setup` prepares the run's folder, environments and reference.
"""
