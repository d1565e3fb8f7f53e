"""Calls models that take, give and compute with strings, beside ONNX Runtime."""
import itertools
import random

import numpy as np
import onnx
import onnx.parser
import onnxruntime

import frit
from checks import fails, run_tests
from support import CPU, FOLDER

HEAD = '<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 4]>\n'
made = itertools.count()


def build(text):
    path = FOLDER / f"strings{next(made)}.onnx"
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return path


def both(text, check=True, **inputs):
    """The outputs of a model; those of ONNX Runtime must be equal."""
    path = build(text)
    results = frit.compile(path, **CPU).run(inputs)
    if check:
        session = onnxruntime.InferenceSession(path)
        for got, wanted in zip(results.values(), session.run(
                None, {k: np.asarray(v, object) for k, v in inputs.items()})):
            assert got.shape == wanted.shape, (got, wanted)
            assert (got == wanted).all(), (got, wanted)
    return results


WORDS = ["", "a", "Straße", "ÉCOLE", "日本", "x" * 300]


def test_passed_through():
    text = "m (string[2,3] x) => (string[3,2] y) { y = Transpose (x) }"
    words = np.array(WORDS).reshape(2, 3)
    y = both(text, x=words)["y"]
    assert y.dtype == object and (y == words.T).all()
    model = frit.compile(build(text), **CPU)
    for kind in (object, np.str_):
        assert (model(words.astype(kind)) == words.T).all()
    assert (model([[w.encode() for w in row] for row in words]) == words.T).all()
    assert model.info.inputs[0].dtype == "string"
    # Constants, and strings that are in the model as well as given.
    both('m (string[2] x) => (string[4] y) <string[2] w = {"a", "b"}>'
         "{ y = Concat <axis = 0> (x, w) }", x=["b", "c"])
    both("m (string[3] x, string[1] y) => (bool[3] z, string[3] w)"
         "{ z = Equal (x, y) \n w = Where (z, y, x) }",
         x=["u", "v", "w"], y=["v"])


def test_wrong_strings():
    model = frit.compile(build("m (string[2] x) => (string[2] y)"
                               "{ y = Identity (x) }"), **CPU)
    fails(frit.ArgumentError, "input 'x' must be 2xstring and is 3xstring",
          lambda: model(["a", "b", "c"]))
    fails(frit.ArgumentError, "input 'x' must be 2xstring and is 2xi64",
          lambda: model([1, 2]))
    fails(frit.ArgumentError, "must hold strings, not int: 7",
          lambda: model(np.array(["a", 7], object)))
    fails(frit.ArgumentError, "string 1 of input 'x' is not UTF-8",
          lambda: model(np.array([b"a", b"\xff"], object)))
    fails(frit.ArgumentError, "string 0 of input 'x' has a zero byte",
          lambda: model(np.array(["a\0b", ""], object)))
    fails(frit.ArgumentError, "string 1 of input 'x' is longer than 1 MiB",
          lambda: model(["", "a" * (2 ** 20 + 1)]))
    fails(frit.ArgumentError, "no string of Unicode", lambda: model(
        ["\ud800", ""]))
    fails(frit.ArgumentError, "outputs of strings are made anew",
          lambda: model(["a", "b"], out=np.array(["", ""])))


def test_concat():
    both("m (string[2,1] x, string[3] y) => (string[2,3] z)"
         "{ z = StringConcat (x, y) }", x=[["a"], ["é"]], y=["1", "", "x"])
    both('m (string[2] x) => (string[2] z) <string s = {"!"}> {'
         "t = StringConcat (x, s) \n z = StringConcat (t, x) }",
         x=["a", "b"])
    model = frit.compile(build(
        "m (string[1] x) => (string[1] z) { z = StringConcat (x, x) }"), **CPU)
    fails(frit.ArgumentError, "node 'z' (StringConcat, opset 20): a string of "
          "its result would have 1400000 bytes", lambda: model(["a" * 700000]))


def split(x, **attributes):
    listed = ", ".join(f"{k} = {v!r}".replace("'", '"')
                       for k, v in attributes.items())
    return both(f"m (string[{len(x)}] x) => (y, n)"
                f"{{ y, n = StringSplit <{listed}> (x) }}", x=x)


def test_split():
    split(["a b  c", " d ", "e"], delimiter="")
    split(["a,b,,c", "d"], delimiter=",")
    split(["a--b--c", "-"], delimiter="--", maxsplit=1)
    y = split(["k=v", "k"], delimiter="=", maxsplit=1)["y"]
    assert y.shape == (2, 2)
    # Python splits at all of Unicode's spaces.
    text = "a\u00a0b\u3000 c\u2009d"
    y, n = both("m (string[1] x) => (y, n) { y, n = StringSplit (x) }",
                check=False, x=[text]).values()
    assert [*y[0]] == text.split() and n[0] == 4
    y, = both("m (string[1] x) => (y) { y, n = StringSplit <maxsplit = 1> (x) }",
              check=False, x=[" a  b c "]).values()
    assert [*y[0]] == " a  b c ".split(None, 1)
    path = build("m (string[1] x) => (y) { [cut] y, n = StringSplit (x) }")
    long = " ".join("w" * 100)
    fails(frit.ArgumentError, "node 'cut' (StringSplit, opset 20): a string has "
          "100 parts, and the model holds 64: compile it with "
          "-fbound=NODE:100 for this node",
          lambda: frit.compile(path, **CPU)([long]))
    larger = frit.compile(path, **CPU, options="-fbound=cut:100")
    assert larger([long]).shape == (1, 100)
    # What is split goes on in the model.
    both('m (string[3] x) => (k) <int64 one = {1}> { y, n = StringSplit '
         '<delimiter = "-"> (x) \n v = Gather <axis = 1> (y, one) \n'
         'k = ai.onnx.ml.LabelEncoder <keys_strings = ["x", "y"], '
         'values_int64s = [5, 6]> (v) }',
         x=["a-x", "b-y", "c-z"])


def normalize(x, shape=None, check=True, **attributes):
    # ONNX Runtime takes the default, en_US, only where that is installed.
    attributes["locale"] = "C"
    listed = ", ".join(f"{k} = {v!r}".replace("'", '"')
                       for k, v in attributes.items())
    return both(f"m (string[{shape or len(x)}] x) => (y)"
                f"{{ y = StringNormalizer <{listed}> (x) }}", check=check,
                x=np.array(x).reshape(eval(f"[{shape or len(x)}]")))["y"]


def test_normalize():
    words = ["Monday", "TUESDAY", "monday", "sunday"]
    for change in ("LOWER", "UPPER", "NONE"):
        for sensitive in (0, 1):
            normalize(words, case_change_action=change, stopwords=["monday"],
                      is_case_sensitive=sensitive)
    normalize(words, shape="1,4", case_change_action="LOWER",
              stopwords=["monday", "sunday", "tuesday"])
    assert [*normalize(["É", "ß", "ǅ", "ΑΣ", "İ"], check=False,
                       case_change_action="LOWER")] == \
        ["é", "ß", "ǆ", "ασ", "İ"]
    assert [*normalize(["é", "ß", "ÿ", "я"], check=False,
                       case_change_action="UPPER")] == ["É", "ß", "Ÿ", "Я"]


PATTERNS = [
    "a*", "a+b?", "(ab|a)(c|bcd)", "[a-c]{2,3}", "[^a-c]+", "a.c", "(?i)aBc",
    r"\d+\.\d*", r"\w+\b.*", r"\bab\b", r"a\Bb", "^ab$", "(^a|b)c?$", "a{0}b",
    "(a|b)*abb", "(?:ab){2}", "(?P<n>a)b", "é+", "[à-ü]+", "[^é]", "日.?",
    r"\x41\x{e9}?", r"\Qa.b\E", "[[:alpha:]]+", "[]a]+", "[a-]+", "a{,2}",
    "(?s)a.b", "|a", "(a?){3}", r"[\w.-]+@[\w-]+\.com", "a+?b", "x|", "(?i)é",
    r"\s*a\s+b\S", "((((a))))", r"[\d\-]+", "a{2,}", "(a*)*b", r"\$\^\|",
]


def test_regex():
    generator = random.Random(7)
    alphabet = "aabbccABC1.-@ éàü日\n$^|{},"
    texts = ["", "ab", "abc", "abcd", "aabb", "1.5", "a b", "x@y.com", "Aé",
             "a.b", "AÉ", "a{,2}", "a\nb", "é", "日本", "a-b", "$^|"]
    texts += ["".join(generator.choices(alphabet, k=generator.randrange(1, 6)))
              for _ in range(300)]
    outputs = ", ".join(f"y{i}" for i in range(len(PATTERNS)))
    nodes = "\n".join(f"y{i} = RegexFullMatch (x)"
                      for i in range(len(PATTERNS)))
    model = onnx.parser.parse_model(
        HEAD + f"m (string[{len(texts)}] x) => ({outputs}) {{ {nodes} }}")
    for node, pattern in zip(model.graph.node, PATTERNS):
        node.attribute.append(onnx.helper.make_attribute("pattern", pattern))
    path = FOLDER / "regex.onnx"
    onnx.save(model, path)
    got = frit.compile(path, **CPU).run({"x": texts})
    session = onnxruntime.InferenceSession(path)
    wanted = session.run(None, {"x": np.asarray(texts, object)})
    matched = 0
    for pattern, ours, theirs in zip(PATTERNS, got.values(), wanted):
        matched += ours.sum()
        if pattern == "(?i)é":  # cases of ASCII only
            continue
        wrong = [t for t, a, b in zip(texts, ours, theirs) if a != b]
        assert not wrong, (pattern, wrong)
    assert matched > 300


def test_wrong_patterns():
    def message(pattern):
        model = onnx.parser.parse_model(
            HEAD + "m (string[1] x) => (y) { y = RegexFullMatch (x) }")
        model.graph.node[0].attribute.append(
            onnx.helper.make_attribute("pattern", pattern))
        path = FOLDER / "wrong.onnx"
        onnx.save(model, path)
        try:
            frit.compile(path, **CPU)
        except frit.CompileError as error:
            return str(error)
        raise AssertionError(pattern)
    for pattern, reason in [
            ("a)", "at byte 1 it has a ')' too many"),
            ("(a", "at byte 2 it lacks a ')'"), ("[a", "at byte 2 it lacks a ']'"),
            ("*", "at byte 0 it repeats nothing"),
            ("a**", "repeats a repetition"), ("\\", "ends with a backslash"),
            (r"(a)\1", r"has \1, which is not supported"),
            (r"\pL", r"has \p, which is not supported"),
            ("(?=a)", "has a group of a kind that is not supported"),
            ("(?<=a)b", "has a group of a kind that is not supported"),
            ("[b-a]", "has a range that ends before it begins"),
            ("a{3,2}", "has a wrong count of repetitions"),
            ("a{1001}", "has a wrong count of repetitions"),
            (r"\x{110000}", r"has a wrong number after \x"),
            ("(a|b)*a(a|b){40}", "its automaton is larger than 1 MiB"),
            ("((a{1000}){1000}){1000}", "it is too large"),
            ("(" * 300 + ")" * 300, "nests too deeply")]:
        assert reason in message(pattern), \
            (pattern, message(pattern))


def test_table():
    """A table with a column of strings, and labels that are strings."""
    text = ('m (string["n",1] city, float["n",1] age) => (label, score, best) {'
            'd = ai.onnx.ml.OneHotEncoder <cats_strings = ["Paris", "Köln"], '
            "zeros = 1> (city) \n"
            "axes = Constant <value_ints = [1]> () \n"
            "hot = Squeeze (d, axes) \n"
            "x = Concat <axis = 1> (hot, age) \n"
            "label, score = ai.onnx.ml.LinearClassifier <classlabels_strings = "
            '["no", "yes", "maybe"], coefficients = [1.0, -2.0, 0.5, -1.0, 2.0, '
            '0.25, 0.5, 0.5, -0.5], intercepts = [0.1, 0.2, 0.3]> (x) \n'
            'labels = Constant <value_strings = ["no", "yes", "maybe"]> () \n'
            "number = ArgMax <axis = 1, keepdims = 0> (score) \n"
            "best = ai.onnx.ml.ArrayFeatureExtractor (labels, number) }")
    path = build(text)
    given = {"city": np.array([["Paris"], ["Oslo"], ["Köln"], [""]], object),
             "age": np.array([[3], [-1], [0.5], [8]], np.float32)}
    wanted = onnxruntime.InferenceSession(path).run(None, given)
    for shape in ({"n": 4}, {"n": range(1, 9)}):
        label, score, best = frit.compile(path, **CPU, shape=shape).run(
            given).values()
        assert (label == wanted[0]).all() and (best == wanted[2]).all()
        assert np.allclose(score, wanted[1])


def test_open_sizes():
    path = build('m (string["n"] x) => (y, z, k) <string s = {"!"}> {'
                 "y = StringConcat (x, s) \n"
                 'z = RegexFullMatch <pattern = "a+"> (x) \n'
                 'k = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], '
                 "values_int64s = [5, 6]> (x) }")
    model = frit.compile(path, **CPU, shape={"n": range(1, 9)})
    session = onnxruntime.InferenceSession(path)
    for count in (1, 3, 8):
        texts = np.array(["a", "b", "aa", "c"] * 2, object)[:count]
        for got, wanted in zip(model(texts), session.run(None, {"x": texts})):
            assert (got == wanted).all() and got.shape == wanted.shape


run_tests(globals())
