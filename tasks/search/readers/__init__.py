"""Readers of the field's data files, one module per format: each yields questions, and a corpus where there is one."""
