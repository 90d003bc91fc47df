"""Rules about the code itself that no linter knows. Each says what to do instead."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import muniment


ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "muniment").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
SCRIPTS = sorted((ROOT / "benchmarks").rglob("*.py")) + sorted(
    (ROOT / "examples").rglob("*.py")
)
FACADE = ROOT / "muniment" / "api"

FUNCTION_LINES_MAX = 50
MODULE_LINES_MAX = 400
PARAMETERS_MAX = 6
BANNED_NAMES = {"utils", "helpers", "common", "base", "manager"}
EVERY_ERROR = {"Exception", "BaseException"}
UNITTEST_NEEDS = "eventsourcing.tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Module:
    """A file of Python, and what stands in it."""

    path: Path
    lines: int
    nodes: tuple[ast.AST, ...]

    @classmethod
    def at(cls, path: Path) -> "Module":
        text = path.read_text(encoding="utf-8")
        return cls(path, len(text.splitlines()), tuple(ast.walk(ast.parse(text))))

    @property
    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))


def imported(module: Module) -> set[str]:
    """Return the dotted names that *module* imports, of modules and from them."""
    names = set()
    for node in module.nodes:
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(source)):
                names |= {source} | {f"{source}.{alias.name}" for alias in node.names}
            case _:
                pass
    return names


def parameters(function: Function, *, keyword_only: bool) -> int:
    """Return how many *function* takes; what it is called on is not one of them."""
    arguments = function.args
    positional = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    bound = positional[:1] in (["self"], ["cls"])
    return len(positional) - bound + (len(arguments.kwonlyargs) if keyword_only else 0)


def names_every_error(expression: ast.expr | None) -> bool:
    match expression:
        case None:
            return True
        case ast.Name(id=name):
            return name in EVERY_ERROR
        case ast.Tuple(elts=members):
            return any(names_every_error(member) for member in members)
        case _:
            return False


def lets_the_error_go(handler: ast.ExceptHandler) -> bool:
    """Return whether *handler* raises, or stores or returns the error it caught."""
    inside = [node for statement in handler.body for node in ast.walk(statement)]
    kept = [node.value for node in inside if isinstance(node, ast.Assign | ast.Return)]
    return any(isinstance(node, ast.Raise) for node in inside) or any(
        isinstance(node, ast.Name) and node.id == handler.name
        for value in kept
        if value is not None
        for node in ast.walk(value)
    )


def swallows_every_error(node: ast.AST) -> bool:
    match node:
        case ast.ExceptHandler(type=caught):
            return names_every_error(caught) and not lets_the_error_go(node)
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress")):
            return any(names_every_error(argument) for argument in node.args)
        case _:
            return False


def lacks_a_reason(node: ast.AST) -> bool:
    """Return whether *node* skips a test, or expects it to fail, without saying why."""
    match node:
        case ast.Call(func=ast.Attribute(attr="skipif" | "xfail"), keywords=keywords):
            return not any(keyword.arg == "reason" for keyword in keywords)
        case ast.Call(func=ast.Attribute(attr="skip" | "skipTest"), args=arguments):
            return not arguments and not any(each.arg == "reason" for each in node.keywords)
        case ast.Call(func=ast.Attribute(attr="importorskip"), keywords=keywords):
            return not any(keyword.arg == "reason" for keyword in keywords)
        case _:
            return False


def is_mark_of_a_skip(node: ast.AST) -> bool:
    """Return whether *node* is ``pytest.mark.skip`` or the like, called or not."""
    match node:
        case ast.Attribute(value=ast.Attribute(attr="mark"), attr="skip" | "xfail"):
            return True
        case _:
            return False


def long_functions(module: Module) -> Iterator[str]:
    """Split it: keep the branches, move the straight-line work out."""
    for function in module.functions:
        lines = (function.end_lineno or 0) - function.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            yield f"{function.name}: {lines} lines"


def long_modules(module: Module) -> Iterator[str]:
    """Split it where its words change."""
    if module.lines > MODULE_LINES_MAX:
        yield f"{module.lines} lines"


def many_parameters(module: Module) -> Iterator[str]:
    """Group what belongs together in a frozen dataclass."""
    # The facade's verbs offer many optional, keyword-only parameters; that is their use.
    keyword_only = FACADE not in module.path.parents
    for function in module.functions:
        if parameters(function, keyword_only=keyword_only) > PARAMETERS_MAX:
            yield function.name


def names_of_nothing(module: Module) -> Iterator[str]:
    """Name it for the one thing in it."""
    yield from BANNED_NAMES & set(module.path.relative_to(ROOT).with_suffix("").parts)


def relative_imports(module: Module) -> Iterator[str]:
    """Write the whole name of the module."""
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"line {node.lineno}"


def swallowed_errors(module: Module) -> Iterator[str]:
    """Catch what you can deal with; raise the rest again or hand it on."""
    for node in module.nodes:
        if swallows_every_error(node):
            yield f"line {getattr(node, 'lineno', 0)}"


def mocks(module: Module) -> Iterator[str]:
    """Write a fake."""
    yield from (name for name in imported(module) if name.startswith("unittest.mock"))


def cases_of_unittest(module: Module) -> Iterator[str]:
    """Write a plain test function; `unittest` serves the event library's tests alone."""
    names = imported(module)
    needed = any(name.startswith(UNITTEST_NEEDS) for name in names)
    if not needed or module.path not in TESTS:
        yield from (name for name in names if name.split(".")[0] == "unittest")


def skips_without_a_reason(module: Module) -> Iterator[str]:
    """Say what would have to change."""
    called = {id(node.func) for node in module.nodes if isinstance(node, ast.Call)}
    for node in module.nodes:
        if lacks_a_reason(node) or (is_mark_of_a_skip(node) and id(node) not in called):
            yield f"line {getattr(node, 'lineno', 0)}"


RULES = (
    long_functions,
    long_modules,
    many_parameters,
    names_of_nothing,
    relative_imports,
    swallowed_errors,
    mocks,
    cases_of_unittest,
    skips_without_a_reason,
)


@pytest.mark.parametrize("path", PACKAGE + TESTS + SCRIPTS, ids=named)
def test_a_module_keeps_every_rule(path: Path) -> None:
    module = Module.at(path)

    broken = [f"{each}: {rule.__doc__}" for rule in RULES for each in rule(module)]

    assert not broken


def test_public_names_are_complete() -> None:
    # They are imported when first used, so the checker's imports and these must agree.
    tree = ast.parse(Path(inspect.getfile(muniment)).read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("muniment.")
        for alias in node.names
    }

    found = {getattr(muniment, name).__name__ for name in muniment.__all__}

    assert found == imported == set(muniment.__all__)
