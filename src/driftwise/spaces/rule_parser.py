"""From the text of a rule to its tree: a tokeniser and a parser by recursive descent, which run no code.

rule       = all ("or" all)*              all   = one ("and" one)*             one = "not" one | comparison
comparison = sum (("<"|"<="|">"|">="|"=="|"!=") sum)*  |  sum ["not"] "in" "[" value ("," value)* "]"
sum        = term (("+"|"-") term)*       term  = signed (("*"|"/") signed)*   signed = "-" signed | power
power      = atom ["**" ["-"] number]
atom       = number | text | true | false | none | name | `name` | (min|max|abs) "(" sum ("," sum)* ")" | "(" rule ")"
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.spaces.parameters import Choice, Float, Int
from driftwise.spaces.rules import (
    Among,
    Call,
    Compare,
    Every,
    Literal,
    Number,
    Numeric,
    NumericChoice,
    Power,
    Rule,
    Series,
    Some,
)

LONGEST = 2000  # characters of a rule
DEEPEST = 30  # parentheses, signs and negations within each other
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
LITERALS: dict[str, Any] = {"true": True, "false": False, "none": None}
WORDS = {"and", "or", "not", "in", "min", "max", "abs", *LITERALS}
INSTEAD = {"=": "==", "&": "and", "&&": "and", "|": "or", "||": "or", "!": "not", "^": "**", "<>": "!="}
SAME = {"≤": "<=", "≥": ">=", "≠": "!=", "−": "-", "·": "*", "True": "true", "False": "false", "None": "none"}
TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<text>'[^'\n]*'|\"[^\"\n]*\")"
    r"|`(?P<quoted>[^`\n]+)`"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|<>|&&|\|\||[-+*/()<>,\[\]=!&|^≤≥≠−·])"
)

Parameters = Mapping[str, Float | Int | Choice | None]  # None: a column of candidates, a number
Makes = Callable[[], "Parsed"]


class Token(NamedTuple):
    kind: str  # number, text, name, word, sign or end
    text: str
    at: int


class Text(NamedTuple):
    """A value that is no number: text, true, false or none."""

    value: Any


class ChosenValue(NamedTuple):
    """A Choice."""

    name: str
    choice: Choice


class Parsed(NamedTuple):
    tree: Any  # a Rule, a Number, a Text or a ChosenValue
    at: int  # where it begins


def parse(text: str, parameters: Parameters) -> Rule:
    """The tree of a rule on these parameters.

    >>> parse("n * 2 <= 8", {"n": Int(1, 9)})
    Compare(left=Series(first=Numeric(name='n'), rest=(('*', Literal(value=2.0)),)), operation='<=', right=Literal(...
    """
    parser = Parser(checked(text), dict(parameters))
    parsed = parser.any_of()
    if parser.token.kind != "end":
        parser.refuse(f"expected and, or, or the end of the rule, got {parser.got}", parser.token.at)
    return parser.rule(parsed)


def checked(text: Any) -> str:
    """The text of a rule, if it is a line of at most LONGEST characters."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"a rule must be text, as 'workers * cache_mb <= 8192', got {checks.shown(text)}")
    checks.text("a rule", text)
    if len(text) > LONGEST:
        raise InvalidInput(f"a rule must have at most {LONGEST:,} characters, got {len(text):,}; write several rules")
    return text


@dataclass
class Parser:
    text: str
    parameters: Parameters
    place: int = 0
    depth: int = 0

    def __post_init__(self) -> None:
        self.tokens = self.tokenised()

    # --- tokens ---------------------------------------------------------------------------------------------------

    def tokenised(self) -> list[Token]:
        tokens, at = [], 0
        while at < len(self.text):
            found = TOKEN.match(self.text, at)
            if found is None:
                quote = self.text[at] in "'\"`"
                fix = "close the quotation mark" if quote else "a name with such characters is written in `backquotes`"
                self.refuse(f"{self.text[at]!r} has no meaning here; {fix}", at)
            kind, word = str(found.lastgroup), found[str(found.lastgroup)]
            word = word if kind in ("text", "quoted") else SAME.get(word, word)
            if word in INSTEAD and kind == "sign":
                self.refuse(f"{word!r} has no meaning here; write {INSTEAD[word]!r}", at)
            if kind == "name" and word in WORDS:
                kind = "word"
            if kind != "space":
                tokens.append(Token("name" if kind == "quoted" else kind, word, at))
            at = found.end()
        return [*tokens, Token("end", "the end of the rule", at)]

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    @property
    def got(self) -> str:
        """The next token, in an error."""
        return self.token.text if self.token.kind == "end" else repr(self.token.text)

    def take(self, *texts: str) -> Token | None:
        """The next token, if it is a sign or a word of these."""
        token = self.token
        if token.kind not in ("sign", "word") or token.text not in texts:
            return None
        self.place += 1
        return token

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            self.refuse(f"expected {text!r}, got {self.got}", self.token.at)

    def refuse(self, why: str, at: int) -> NoReturn:
        begin = max(at - 60, 0)
        line = self.text[begin : at + 60].replace("\n", " ").replace("\t", " ")
        raise InvalidInput(f"a rule cannot be read at column {at + 1}: {why}\n  {line}\n  {' ' * (at - begin)}^")

    def deeper(self, make: Makes) -> Parsed:
        """What `make` reads, if that is not too deep."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse(f"it is nested more than {DEEPEST} deep; write several rules", self.token.at)
        made = make()
        self.depth -= 1
        return made

    # --- rules ----------------------------------------------------------------------------------------------------

    def any_of(self) -> Parsed:
        return self.joined("or", self.all_of, Some)

    def all_of(self) -> Parsed:
        return self.joined("and", self.one, Every)

    def joined(self, word: str, make: Makes, kind: type[Some] | type[Every]) -> Parsed:
        first = make()
        if self.token.text != word or self.token.kind != "word":
            return first
        rules = [self.rule(first)]
        while self.take(word):
            rules.append(self.rule(make()))
        return Parsed(kind(tuple(rules)), first.at)

    def one(self) -> Parsed:
        taken = self.take("not")
        if taken is None:
            return self.comparison()
        return Parsed(self.rule(self.deeper(self.one)).opposite(), taken.at)

    def comparison(self) -> Parsed:
        left = self.sum()
        negated = self.take("not")
        if self.take("in"):
            among = self.among(left)
            return Parsed(among.opposite() if negated else among, left.at)
        if negated:
            self.refuse(f"expected 'in' after 'not', got {self.got}", self.token.at)
        rules: list[Rule] = []
        begin = left.at
        while operation := self.take(*COMPARISONS):
            right = self.sum()
            rules.append(self.compared(left, operation, right))
            left = right
        if not rules:
            return left
        return Parsed(rules[0] if len(rules) == 1 else Every(tuple(rules)), begin)

    def compared(self, left: Parsed, operation: Token, right: Parsed) -> Rule:
        for one, other in ((left, right), (right, left)):
            fits = isinstance(one.tree, ChosenValue) and isinstance(other.tree, Text | Literal)
            if fits and operation.text in ("==", "!="):
                same = self.has(one.tree, [other])
                return same if operation.text == "==" else same.opposite()
        for one, other in ((left, right), (right, left)):
            if isinstance(one.tree, Text) and not isinstance(other.tree, Text):
                what = self.described(other)
                self.refuse(f"{_written(one.tree.value)} is no number, and {what}; compare it with a number", one.at)
        return Compare(self.number(left), operation.text, self.number(right))

    def among(self, left: Parsed) -> Rule:
        self.expect("[")
        values = [self.value()]
        while self.take(","):
            values.append(self.value())
        self.expect("]")
        if isinstance(left.tree, ChosenValue):
            return self.has(left.tree, values)
        number = self.number(left)
        return Some(tuple(Compare(number, "==", self.number(value)) for value in values))

    def value(self) -> Parsed:
        value = self.signed()
        if not isinstance(value.tree, Literal | Text):
            self.refuse("a list has values only: numbers, 'text', true, false or none", value.at)
        return value

    def has(self, chosen: ChosenValue, values: Sequence[Parsed]) -> Rule:
        """The Choice has one of these values, which must be among its own."""
        taken = [False] * chosen.choice.size
        for value, at in values:
            place = _place(chosen.choice, value.value)
            if place is None:
                names = [name for name in chosen.choice.values if isinstance(name, str)]
                fix = _nearest(str(value.value), names)
                self.refuse(
                    f"{_written(value.value)} is no value of {chosen.name!r}, which is {chosen.choice.range}{fix}", at
                )
            taken[place] = True
        return Among(chosen.name, tuple(taken))

    def rule(self, parsed: Parsed) -> Rule:
        """What was read, if it is a rule; a Choice of true and false is one by itself."""
        tree = parsed.tree
        if isinstance(tree, Compare | Among | Every | Some):
            return tree
        if isinstance(tree, ChosenValue) and all(isinstance(value, bool) for value in tree.choice.values):
            return Among(tree.name, tuple(value is True for value in tree.choice.values))
        return self.refuse("expected a comparison, as workers < 16", parsed.at)

    # --- numbers --------------------------------------------------------------------------------------------------

    def sum(self) -> Parsed:
        return self.chain(self.term, "+", "-")

    def term(self) -> Parsed:
        return self.chain(self.signed, "*", "/")

    def chain(self, make: Makes, *operations: str) -> Parsed:
        first = make()
        rest: list[tuple[str, Number]] = []
        while operation := self.take(*operations):
            rest.append((operation.text, self.number(make())))
        return first if not rest else Parsed(Series(self.number(first), tuple(rest)), first.at)

    def signed(self) -> Parsed:
        taken = self.take("-")
        if taken is None:
            return self.power()
        number = self.number(self.deeper(self.signed))
        if isinstance(number, Literal):
            return Parsed(Literal(-number.value), taken.at)
        return Parsed(Series(Literal(0.0), (("-", number),)), taken.at)

    def power(self) -> Parsed:
        base = self.atom()
        if not self.take("**"):
            return base
        exponent = self.deeper(self.signed)
        if not isinstance(exponent.tree, Literal):
            self.refuse("an exponent must be a number, as in x ** 2", exponent.at)
        return Parsed(Power(self.number(base), exponent.tree.value), base.at)

    def atom(self) -> Parsed:
        kind, text, at = self.token
        if kind == "name":
            self.place += 1
            return Parsed(self.parameter(text, at), at)
        if kind == "number":
            self.place += 1
            return Parsed(Literal(self.finite(text, at)), at)
        if kind == "text":
            self.place += 1
            return Parsed(Text(text[1:-1]), at)
        if self.take(*LITERALS):
            return Parsed(Text(LITERALS[text]), at)
        if self.take("("):
            inside = self.deeper(self.any_of)
            self.expect(")")
            return Parsed(inside.tree, at)
        if self.take("min", "max", "abs"):
            return Parsed(Call(text, self.arguments(text)), at)
        return self.refuse(f"expected a parameter, a number or 'text', got {self.got}", at)

    def arguments(self, function: str) -> tuple[Number, ...]:
        self.expect("(")
        begin = self.token.at
        arguments = [self.number(self.deeper(self.sum))]
        while self.take(","):
            arguments.append(self.number(self.deeper(self.sum)))
        self.expect(")")
        if (function == "abs") != (len(arguments) == 1):
            wanted = "one argument" if function == "abs" else "two arguments or more"
            self.refuse(f"{function} takes {wanted}, got {len(arguments)}", begin)
        return tuple(arguments)

    def finite(self, text: str, at: int) -> float:
        number = float(text)
        if number > checks.LARGEST:
            self.refuse(f"a number must be at most {checks.LARGEST:g}", at)
        return number

    def parameter(self, name: str, at: int) -> Number | ChosenValue:
        if name not in self.parameters:
            fix = _nearest(name, list(self.parameters))
            self.refuse(f"there is no parameter {name!r}; there are {', '.join(self.parameters)}{fix}", at)
        parameter = self.parameters[name]
        return ChosenValue(name, parameter) if isinstance(parameter, Choice) else Numeric(name)

    def number(self, parsed: Parsed) -> Number:
        """What was read, if it is a number; a Choice of numbers is one."""
        tree = parsed.tree
        if isinstance(tree, Literal | Numeric | NumericChoice | Series | Power | Call):
            return tree
        if isinstance(tree, ChosenValue) and all(_is_number(value) for value in tree.choice.values):
            return NumericChoice(tree.name, tuple(float(value) for value in tree.choice.values))
        return self.refuse(f"expected a number, but {self.described(parsed)}", parsed.at)

    def described(self, parsed: Parsed) -> str:
        tree = parsed.tree
        if isinstance(tree, Numeric):
            known = self.parameters[tree.name]
            return f"{tree.name!r} is {'a number' if known is None else known.range}"
        if isinstance(tree, ChosenValue):
            return f"{tree.name!r} is {tree.choice.range}; compare it by ==, != or in with one of these"
        if isinstance(tree, Text):
            return f"{_written(tree.value)} is none"
        return "this is a number" if isinstance(tree, Number) else "this is a rule"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _place(choice: Choice, value: Any) -> int | None:
    """Which of the values it is; true is not 1."""
    for place, known in enumerate(choice.values):
        if known == value and isinstance(known, bool) == isinstance(value, bool):
            return place
    return None


def _written(value: Any) -> str:
    words = {True: "true", False: "false", None: "none"}
    plain = words[value] if value is None or isinstance(value, bool) else checks.shown(value)
    return plain.removesuffix(".0") if isinstance(value, float) else plain


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
