"""Rules about the code itself that no linter knows. Each says what to do instead."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment


ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "muniment").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
SCRIPTS = sorted((ROOT / "benchmarks").rglob("*.py")) + sorted(
    (ROOT / "examples").rglob("*.py")
)
EVERYTHING = PACKAGE + TESTS + SCRIPTS
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


def nodes(module: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(module.read_text(encoding="utf-8")))


def functions(module: Path) -> Iterator[Function]:
    return (node for node in nodes(module) if isinstance(node, Function))


def imported(module: Path) -> set[str]:
    """Return the dotted names that *module* imports, of modules and from them."""
    names = set()
    for node in nodes(module):
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


def marks_without_a_reason(module: Path) -> Iterator[int]:
    """Yield the lines with a bare ``pytest.mark.skip``, which is not called."""
    called = {id(node.func) for node in nodes(module) if isinstance(node, ast.Call)}
    for node in nodes(module):
        match node:
            case ast.Attribute(value=ast.Attribute(attr="mark"), attr="skip" | "xfail"):
                if id(node) not in called:
                    yield node.lineno
            case _:
                pass


@pytest.mark.parametrize("module", EVERYTHING, ids=named)
def test_functions_fit_on_a_screen(module: Path) -> None:
    long = [
        f"{function.name}: {lines} lines"
        for function in functions(module)
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES_MAX
    ]

    assert not long, "split it: keep the branches, move the straight-line work out"


@pytest.mark.parametrize("module", EVERYTHING, ids=named)
def test_modules_stay_small(module: Path) -> None:
    lines = len(module.read_text(encoding="utf-8").splitlines())

    assert lines <= MODULE_LINES_MAX, "split it where its words change"


@pytest.mark.parametrize("module", EVERYTHING, ids=named)
def test_functions_take_few_parameters(module: Path) -> None:
    # The facade's verbs offer many optional, keyword-only parameters; that is their use.
    keyword_only = FACADE not in module.parents

    many = [
        function.name
        for function in functions(module)
        if parameters(function, keyword_only=keyword_only) > PARAMETERS_MAX
    ]

    assert not many, "group what belongs together in a frozen dataclass"


@pytest.mark.parametrize("module", EVERYTHING, ids=named)
def test_modules_are_named_for_what_they_hold(module: Path) -> None:
    words = set(module.relative_to(ROOT).with_suffix("").parts)

    assert not words & BANNED_NAMES, "name it for the one thing in it"


@pytest.mark.parametrize("module", EVERYTHING, ids=named)
def test_imports_are_absolute(module: Path) -> None:
    relative = [
        node.lineno
        for node in nodes(module)
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert not relative, "write the whole name of the module"


@pytest.mark.parametrize("module", EVERYTHING, ids=named)
def test_no_error_is_swallowed(module: Path) -> None:
    swallowed = [
        getattr(node, "lineno", 0) for node in nodes(module) if swallows_every_error(node)
    ]

    assert not swallowed, "catch what you can deal with; raise the rest again or hand it on"


@pytest.mark.parametrize("module", EVERYTHING, ids=named)
def test_unittest_serves_the_event_library_alone(module: Path) -> None:
    names = imported(module)
    unittest = any(name.split(".")[0] == "unittest" for name in names)
    needed = any(name.startswith(UNITTEST_NEEDS) for name in names)

    assert not any(name.startswith("unittest.mock") for name in names), "write a fake"
    assert not unittest or (needed and module in TESTS), "write a plain test function"


@pytest.mark.parametrize("module", TESTS, ids=named)
def test_every_skip_has_a_reason(module: Path) -> None:
    calls = [getattr(node, "lineno", 0) for node in nodes(module) if lacks_a_reason(node)]

    assert not calls + list(marks_without_a_reason(module)), "say what would have to change"


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
