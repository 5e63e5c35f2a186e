"""`agentenv/Theorem-v0`: statements to prove, tactic by tactic, with a prover as the judge."""
