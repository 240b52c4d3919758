"""The examples of the methods of a study go on from that of its class: they are run with the study it made."""

import doctest
import inspect

import pytest

SLOW = {"live-service.md", "price.md", "radio.md", "researcher.md"}  # pages, which have no place for a mark
HOMES = ("driftwise.study.opening.", "driftwise.study.ask_tell.", "driftwise.study.study.", "driftwise.study.rollouts.")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name in SLOW:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _example_of_the_class(request):
    if not request.node.name.startswith(HOMES):
        yield
        return
    from driftwise import Study  # not before tests/conftest.py has set the number of threads

    request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
    namespace = request.getfixturevalue("doctest_namespace")
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(Study)):
        exec(example.source, namespace)
    yield
    namespace.clear()
