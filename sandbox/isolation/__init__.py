"""What the host can enforce on a sandbox, and how."""
