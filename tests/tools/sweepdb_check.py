"""Helpers of the checks of python/sweepdb, which print lines "name<TAB>problem" (tests/cli/test_python.sh)."""
import contextlib
import doctest
import sys
import traceback


def check(name, work):
    try:
        work()
        problem = ""
    except Exception:
        problem = traceback.format_exc().replace("\n", " | ").replace("\t", " ")
    print(f"{name}\t{problem}")


def raises(error, text, work):
    try:
        work()
    except error as caught:
        assert text in str(caught), f"no {text!r} in: {caught}"
        return
    raise AssertionError(f"no {error.__name__} with {text!r}")


def run_doctests(least, *modules):
    """The examples in the modules' comments, at least the given number."""
    tried = 0
    with contextlib.redirect_stdout(sys.stderr):
        for module in modules:
            result = doctest.testmod(module)
            assert result.failed == 0, f"{module.__name__}: stderr says which"
            tried += result.attempted
    assert tried >= least, tried
