"""
The verbs as a principal and a client have them, typed: made of the facade itself.

`muniment/api/signatures.pyi` is what this prints; run ``python -m tests.verb_signatures``
after a verb changed.
"""

import ast
import inspect
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from muniment import MemoryStore
from muniment.api.approvals import WATCHED
from muniment.domain.acts import VERBS


FILE = Path(__file__).parents[1] / "muniment" / "api" / "signatures.pyi"

_INQUIRY = ("reason: str | None", "matter: str | None", "break_glass: bool")
_HEAD = """\
# The verbs of MemoryStore as ActingStore and Client have them. Made, not written: see
# tests/verb_signatures.py. What is a function of the caller's own, such as progress or
# summarizer, a service does not take.
"""


def made() -> str:
    """Return the stub, formatted."""
    names = _Names()
    bodies = [_stub(verb, names) for verb in sorted(VERBS)]
    imports = [
        f"from {module} import {name}"
        for (module, name), as_ in names.known.items()
        if as_ == name
    ]
    imports += [
        f"from {module} import {name} as {as_}"
        for (module, name), as_ in names.known.items()
        if as_ != name
    ]
    who = "    def whoami(self) -> Principal: ..."
    return _formatted("\n".join((_HEAD, *sorted(imports), "class Verbs:", who, *bodies)))


class _Names(ast.NodeTransformer):
    """Resolves what annotations name, quoted or not; two of one name get two names."""

    def __init__(self) -> None:
        self.known = {("muniment.domain.access", "Principal"): "Principal"}
        self._module: ModuleType = sys.modules[__name__]

    def of(self, annotation: ast.expr, module: ModuleType) -> ast.expr:
        self._module = module
        resolved = self.visit(annotation)
        assert isinstance(resolved, ast.expr), "an annotation stays one"
        return resolved

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            self.visit(node.value)
            return node
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            return self.of(ast.parse(node.value, mode="eval").body, self._module)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        place = _imported(node.id, self._module)
        if place is None:
            return node
        if place not in self.known:
            taken = node.id in self.known.values()
            last = place[0].rpartition(".")[2].title().replace("_", "")
            self.known[place] = f"{last}{node.id}" if taken else node.id
        return ast.Name(self.known[place])


def _stub(verb: str, names: _Names) -> str:
    found = inspect.getattr_static(MemoryStore, verb)
    is_property = isinstance(found, property)
    tree, module = _definition(found.fget if is_property else inspect.unwrap(found))
    assert tree.returns is not None, f"{verb} says what it gives back"
    answer = ast.unparse(names.of(tree.returns, module))
    if is_property:
        return f"    @property\n    def {verb}(self) -> {answer}: ..."
    extra: tuple[str, ...] = ()
    if not VERBS[verb].writes:
        extra = _INQUIRY
    elif verb in WATCHED:
        extra = ("approval: str | None",)
    args = tree.args
    for each in (*args.args, *args.kwonlyargs, args.kwarg):
        if each is not None and each.annotation is not None:
            each.annotation = names.of(each.annotation, module)
    for field in extra:
        name, _, kind = field.partition(": ")
        args.kwonlyargs.append(ast.arg(name, ast.parse(kind, mode="eval").body))
        args.kw_defaults.append(ast.Constant(...))
    args.defaults = [ast.Constant(...) for _ in args.defaults]
    args.kw_defaults = [each and ast.Constant(...) for each in args.kw_defaults]
    return f"    def {verb}({ast.unparse(args)}) -> {answer}: ..."


def _definition(function: Any) -> tuple[ast.FunctionDef, ModuleType]:  # noqa: ANN401
    module = inspect.getmodule(function)
    assert module is not None, "it is written somewhere"
    owner, _, name = function.__qualname__.rpartition(".")
    for each in ast.walk(_parsed(module)):
        if isinstance(each, ast.ClassDef) and each.name == owner:
            for member in each.body:
                if isinstance(member, ast.FunctionDef) and member.name == name:
                    copied = ast.parse(ast.unparse(member)).body[0]
                    assert isinstance(copied, ast.FunctionDef), "as it was"
                    return copied, module
    raise AssertionError(f"{function.__qualname__} is not where it says")


@cache
def _parsed(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _imported(name: str, module: ModuleType) -> tuple[str, str] | None:
    """Return module and name of what *name* is in *module*; ``None`` for a builtin."""
    for each in ast.walk(_parsed(module)):
        if isinstance(each, ast.ImportFrom):
            for alias in each.names:
                if name == (alias.asname or alias.name):
                    return str(each.module), alias.name
    return (module.__name__, name) if name in vars(module) else None


def _formatted(text: str) -> str:
    command = (sys.executable, "-m", "ruff")
    named = ("--stdin-filename", str(FILE), "-")
    checked = (*command, "check", "--select", "I", "--fix-only", "--quiet", *named)
    for each in (checked, (*command, "format", "--quiet", *named)):
        done = subprocess.run(each, input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


if __name__ == "__main__":
    FILE.write_text(made(), encoding="utf-8")
