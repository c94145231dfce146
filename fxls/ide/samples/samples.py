"""Arguments that a person would write first, by names, annotations and layers."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from fxls.ide.samples.first_layer import Built, FirstLayer, Value
from fxls.ide.samples.rotations import ROTATIONS, rotating_class, rotations
from fxls.ide.samples.sample_inputs import sample_inputs
from fxls.ide.samples.written_choices import written_choices
from fxls.ide.syntax.module_classes import ModuleClass
from fxls.ide.syntax.parameter_uses import Function, functions
from fxls.ide.syntax.quiet_parser import parsed
from fxls.ide.syntax.signatures import ClassSyntax, Parameter, classes

__all__ = ["BLANK", "Samples", "comment_of"]

BLANK = "..."
"""Stands for what nobody can guess: an entry that has it is not traced yet."""

_VALUES = {
    "bool": "True",
    "float": "0.1",
    "Sequence[int]": "[2, 2]",
    "list[int]": "[2, 2]",
    "List[int]": "[2, 2]",
    "tuple[int, ...]": "(2, 2)",
    "Tensor": "torch.randn(8)",
    "Module": "torch.nn.Identity()",
    "dtype": "torch.float32",
    "device": '"cpu"',
    "Callable": "torch.nn.functional.relu",
}

_SIZES = (
    (r"(image|img|input)_?(size|resolution)", "32"),
    (r"patch_?size", "4"),
    (r"d_?model", "8"),
    (r"dim", "64"),
    (r"(\w*_)?kernel(_?size)?|k_?size", "3"),
    (r"(layer|block|stage)_?(idx|index|id|number)", "0"),
    (r"stride|groups|dilation|padding|rank", "1"),
    (r"(n|num)_(\w+_)?heads?|nheads?|heads|\w+_heads", "2"),
    (r"(n|num)_(\w+_)?(layers?|blocks?)|nlayers?|(\w+_)?depth|repeats?", "2"),
    (r"in_?(channels|chans|ch|c)|(n|img|image|input|num)_channels", "3"),
    (r"(n|num)_?(classes|labels)", "10"),
    (r"(\w*_)?(vocab(_?size)?|(n|num)_?(tokens|embeddings))|n_vocab", "100"),
)
"""Of the numbers that are not like others: most are widths."""

_OTHERS = (
    (r"(dim|num|n|size)s?_\w+|\w+_dim", "8"),
    (r"(\w*_)?ratio", "0.5"),
    (r"(\w*_)?(dropout|drop|prob|rate|p|alpha|momentum)", "0.1"),
    (r"(\w*_)?eps(ilon)?", "1e-5"),
    (r"bias|(use|with|has|is)_\w+|\w+_bias|causal|bilinear", "True"),
    (
        r"(\w*_)?(model|encoder|decoder|backbone|module|fn|net|network|head)",
        "torch.nn.Identity()",
    ),
    (r"(\w*_)?(act|activation|norm|layers?|blocks?)(_(layer|fn|cls|class))?", BLANK),
    (r"(\w*_)?(name|path|file|mode|type|kind|tokenizer|device|dtype)", BLANK),
)
"""Of what is no number, where nobody says its type."""

_CONFIGURATION = r"(\w*_)?(config|cfg|conf|args|hparams|hps|params|options|opts?)"
_CONFIGURATIONS = ("Args", "Arguments", "Config", "HParams", "Options", "Params")


_BASE = "PreTrainedModel"
"""The base class of the models of Hugging Face, which their files import."""
_CACHE = "use_cache"
"""What the forward of a language model takes, and of few others."""
_FEW = "num_hidden_layers=2"
"""It may have billions of parameters by default: two of its layers have the code of all."""


def comment_of(expression: str) -> str:
    """An entry as a comment."""
    return f"# fxls: {expression}"


class Samples:
    """Calls of the classes of one file."""

    def __init__(self, text: str) -> None:
        tree = parsed(text)
        self._text = text
        self._tree = tree
        self._classes = classes(tree.body) if tree else {}
        self._functions = functions(tree) if tree else {}
        self._imported = _imported(tree) if tree else []

    def entry(self, module: ModuleClass) -> str:
        """The call of a class with what it needs, and with inputs for its forward."""
        given = self.arguments(module.name, module.parameters)
        if _BASE in self._imported and any(one.name == _CACHE for one in module.inputs):
            given = re.sub(r"(?<==)(\w+Config)\(\)", rf"\1({_FEW})", given)
        return f"{module.name}({given})({self._inputs(module)})"

    def arguments(self, owner: str, needed: Sequence[Parameter]) -> str:
        """The arguments that a class must be given, by name."""
        given = self._given(owner, needed, frozenset({owner}))
        return ", ".join(f"{name}={value}" for name, value in given.items())

    def _given(
        self, owner: str, needed: Sequence[Parameter], around: frozenset[str]
    ) -> dict[str, str]:
        missing = [one for one in needed if one.default is None]
        syntax = self._classes.get(owner)
        chosen: Mapping[str, str] = {}
        if missing and self._tree is not None and syntax is not None:
            chosen = written_choices(self._tree, owner, syntax)
        return {
            one.name: chosen.get(one.name) or self._value(one, owner, around)
            for one in missing
        }

    def _value(self, parameter: Parameter, owner: str, around: frozenset[str]) -> str:
        name, annotation = parameter.name, parameter.annotation.strip("'\"")
        if _may_be_none(annotation):
            return "None"
        if annotation in ("", "int"):
            number = _matched(name, _SIZES)
            if number is not None or annotation:
                return number or "8"
        if not annotation:
            return self._by_name(name, owner, around)
        chosen = re.match(r"(?:typing\.)?Literal\[('[^']*'|[\w.]+)", annotation)
        if chosen is not None:
            return chosen[1]
        if kind := re.match(
            r"(?:typing\.)?[Tt]ype\[(?:Union\[)?['\"]?(\w+)", annotation
        ):
            return kind[1] if kind[1] in self._classes else BLANK
        last = annotation.removeprefix("typing.")
        last = last if "[" in last else last.rpartition(".")[2]
        if last in _VALUES:
            return (
                _matched(name, _OTHERS) or "0.1" if last == "float" else _VALUES[last]
            )
        if last.startswith("Callable["):
            return _VALUES["Callable"]
        union = re.match(r"(?:typing\.)?Union\[(.+)\]$", annotation)
        kinds = union[1].split(",") if union else last.split("|")
        made = (self._made(kind.strip(" '\""), around) for kind in kinds)
        return next((value for value in made if value != BLANK), BLANK)

    def _by_name(self, name: str, owner: str, around: frozenset[str]) -> str:
        if re.fullmatch(_CONFIGURATION, name):
            return self._made(self._configuration(owner), around)
        # Without an annotation most arguments of models are sizes.
        return _matched(name, _OTHERS) or "8"

    def _made(self, name: str, around: frozenset[str]) -> str:
        """The call of a class, of this file or of another one."""
        syntax = self._classes.get(name)
        if syntax is None:
            known = name in self._imported and name.endswith(_CONFIGURATIONS)
            return f"{name}()" if known else BLANK
        if name in around:
            return BLANK
        if syntax.is_enum():
            return next((f"{name}.{one.name}" for one in syntax.fields()), BLANK)
        given = self._given(name, syntax.fields(), around | {name})
        return f"{name}({', '.join(f'{key}={value}' for key, value in given.items())})"

    def _configuration(self, owner: str) -> str:
        """The class whose instances configure another one; empty when unclear."""
        found = [
            name
            for name in (*self._classes, *self._imported)
            if name.endswith(_CONFIGURATIONS)
            and not (name in self._classes and self._classes[name].is_module())
        ]
        own = [name for name in found if name.startswith(owner)]
        likely = own or found
        return likely[0] if len(likely) == 1 or own else ""

    def _inputs(self, module: ModuleClass) -> str:
        syntax = self._classes[module.name]
        built = Built(syntax, self._known(module, syntax))
        layers = FirstLayer(self._classes, built, self._functions)
        forward = syntax.method("forward")
        return sample_inputs(
            module.inputs,
            layers,
            lambda name: forward is not None and self._takes_none(forward, name),
            self._rotations(module),
        )

    def _rotations(self, module: ModuleClass) -> Mapping[str, str]:
        if all(one.name != ROTATIONS for one in module.inputs):
            return {}
        name = rotating_class(module.name, self._classes)
        call = BLANK if name is None else self._made(name, frozenset())
        if name is None or BLANK in call:
            return {}
        return {ROTATIONS: rotations(call, self._classes[name])}

    def _takes_none(self, forward: Function, name: str) -> bool:
        """Whether a forward, or what it gives a mask to, does without one."""
        body = ast.unparse(forward)
        if re.search(rf"\b{name} is (not )?None", body):
            return True
        is_passed_on = re.search(rf"\bself\.[\w.\[\]]+\([^()]*\b{name}\b", body)
        asked = re.search(r"mask\w*(: [^,=)\n]+)? ?(is (not )?|= ?)None", self._text)
        return is_passed_on is not None and asked is not None

    def _known(self, module: ModuleClass, syntax: ClassSyntax) -> Mapping[str, Value]:
        """What the constructor is given, by the parameter."""
        given = {p.name: p.default for p in module.parameters if p.default is not None}
        given |= self._given(module.name, module.parameters, frozenset({module.name}))
        layers = FirstLayer(self._classes, Built(syntax, {}))
        known = {
            name: layers.value(ast.parse(value, mode="eval").body, None)
            for name, value in given.items()
        }
        return {name: value for name, value in known.items() if value is not None}


def _may_be_none(annotation: str) -> bool:
    return re.search(r"Optional\[|\bNone\b", annotation) is not None


def _matched(name: str, samples: Sequence[tuple[str, str]]) -> str | None:
    found = (value for pattern, value in samples if re.fullmatch(pattern, name))
    return next(found, None)


def _imported(tree: ast.Module) -> list[str]:
    """The names that a file takes from other files."""
    return [
        alias.asname or alias.name
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    ]
