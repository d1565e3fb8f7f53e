"""The table that random graphs draw their operators from."""
import functools

OPERATORS = []  # functions of a graph, as often as they have weight


def operator(*arguments, weight=1):
    """Adds the function to the table, once per item of `arguments`, which is passed
    after the graph. The function adds nodes, or returns False."""
    def enter(function):
        for a in arguments or [()]:
            more = a if isinstance(a, tuple) else (a,)
            bound = functools.partial(lambda f, rest, graph: f(graph, *rest),
                                      function, more)
            OPERATORS.extend([bound] * weight)
        return function
    return enter
