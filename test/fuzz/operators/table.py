"""The table that random graphs draw their operators from."""
import functools

OPERATORS = []  # functions of a graph, as often as they have weight


def operator(*arguments, weight=1):
    """Puts the function into the table, once for each of `arguments`, which it
    takes after the graph. It adds nodes, or declines by returning False."""
    def enter(function):
        for a in arguments or [()]:
            more = a if isinstance(a, tuple) else (a,)
            bound = functools.partial(lambda f, rest, graph: f(graph, *rest),
                                      function, more)
            OPERATORS.extend([bound] * weight)
        return function
    return enter
