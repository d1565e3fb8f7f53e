"""What tests of the Python package share that need no model and no PyTorch."""


def fails(kind, text, call):
    """Checks that a call raises an exception of `kind` whose message has `text`;
    returns it."""
    try:
        call()
    except kind as error:
        assert text in str(error), f"{error!r} lacks {text!r}"
        return error
    raise AssertionError(f"no {kind} was raised; expected {text!r}")


def run_tests(names):
    """Runs a module's functions whose names begin with "test_"."""
    for name, test in [*names.items()]:
        if name.startswith("test_"):
            test()
            print(f"{name}: ok", flush=True)
    print("all good")
