"""Small modules that show every way in which a model is written, with example inputs.

They are written as people write models, in ordinary source files, so that positions and
names in them can be compared too.
"""

from tests.engine.zoo.registry import Example, examples

__all__ = ["Example", "examples"]
