"""Tests of `fxls.runtime.passes`."""
