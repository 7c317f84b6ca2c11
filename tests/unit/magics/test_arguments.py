"""Lines of magics: splitting, options, and what mistakes say."""

import pytest
from IPython.core.error import UsageError

from mlirtrt_nb.magics.arguments import Parser, split


@pytest.fixture
def parser() -> Parser:
    made = Parser("%trt_thing", "Does a thing.")
    made.add_argument("name")
    made.add_argument("--target", action="append", default=[], metavar="T", help="where 100%% of it runs")
    made.add_argument("--no-cache", action="store_true")
    return made


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("model --shape x=1x3", ["model", "--shape", "x=1x3"]),
        ('"my model.onnx" --name a', ["my model.onnx", "--name", "a"]),
        (r"C:\models\net.onnx", [r"C:\models\net.onnx"]),
        ("--shape 'a b=1x2'", ["--shape", "a b=1x2"]),
        ("模型 plans['a']", ["模型", "plans['a']"]),
        ('plans["a b"] x', ['plans["a b"]', "x"]),
        ("--name='a b' '' \"it's\"", ["--name=a b", "", "it's"]),
        ("m # 2", ["m", "#", "2"]),
        ("", []),
    ],
)
def test_split(line: str, words: list[str]) -> None:
    """Quotes group words; backslashes, braces and hashes are ordinary characters."""
    assert split(line) == words


def test_an_open_quote() -> None:
    """A quote that is not closed is a usage error that shows the line."""
    with pytest.raises(UsageError, match="quote is not closed in: a 'b"):
        split("a 'b")


def test_options(parser: Parser) -> None:
    """Options may stand anywhere and be repeated."""
    arguments = parser.parse("--target cpu m --no-cache --target=sm89")
    assert arguments is not None
    assert (arguments.name, arguments.target, arguments.no_cache) == ("m", ["cpu", "sm89"], True)


def test_a_wrong_option_names_the_nearest(parser: Parser) -> None:
    """A misspelt option is answered with the right one."""
    with pytest.raises(UsageError, match=r"%trt_thing: unknown option --targt; did you mean --target\?"):
        parser.parse("m --targt=cpu")


def test_an_option_like_no_other_lists_them(parser: Parser) -> None:
    """Where nothing is near, the options are listed."""
    with pytest.raises(UsageError, match="options: --help, --target, --no-cache"):
        parser.parse("m --zzz")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the following arguments are required: name"),
        ("m --target", "argument --target: expected one argument"),
        ("m n", "unexpected argument 'n'"),
        ("m --tar cpu", "unknown option --tar; did you mean --target"),
    ],
)
def test_mistakes_are_usage_errors(parser: Parser, line: str, message: str) -> None:
    """Every mistake is a UsageError that names the magic and its help."""
    with pytest.raises(UsageError) as caught:
        parser.parse(line)
    assert message in str(caught.value)
    assert str(caught.value).endswith("(%trt_thing --help)")


@pytest.mark.parametrize("line", ["--help", "-h", "m --wrong --help"])
def test_help(parser: Parser, capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Help is printed, whatever else stands on the line, and nothing is done."""
    assert parser.parse(line) is None
    printed = capsys.readouterr().out
    assert printed.startswith("usage: %trt_thing [-h] [--target T] [--no-cache] name")
    assert "where 100% of it runs" in printed
