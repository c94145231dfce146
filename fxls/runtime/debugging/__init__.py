"""What debugpy and pdb cannot do by themselves; the only room that knows pydevd."""
