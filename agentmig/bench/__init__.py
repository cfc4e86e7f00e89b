"""The fault bench: known faults put into correct migrations, to measure whether the verifier tells them apart.

`manifests` reads what people write about faults, `examples` the projects that they are put into; `applying` makes a
commit of each, so that every mistake is known before anything runs; `arms` are what is run. `plain` trains a commit once
without comparing it with anything: from what it leaves (`printed` reads the log, `tensors` the checkpoint) `oracle`
decides whether a fault changes anything at all, and `baselines` what simpler checks than agentmig would say. `verifying`
puts the commit through the real verifier. `campaign` does this for all arms, `rows` keeps what is done, `summary` counts,
`document` writes the counts down.
"""
