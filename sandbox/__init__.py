"""Where untrusted commands run. Invariant: what runs inside changes nothing outside."""
