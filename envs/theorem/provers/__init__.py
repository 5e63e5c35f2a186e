"""The provers behind one interface, one module each."""
