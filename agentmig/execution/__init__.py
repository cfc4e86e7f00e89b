"""Running other people's code: repositories and worktrees, environments, isolation, processes, the local runner.

Nothing here judges. `runner` brings one commit to a clean folder, runs a command of the project there under the
probe, and says what happened; `verification` says what it means.
"""
