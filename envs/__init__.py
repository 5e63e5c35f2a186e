"""The environments, one module each. They are imported by Gymnasium when made."""
