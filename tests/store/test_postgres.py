"""PostgreSQL passes the contract of stores; and what is particular to a server."""

from __future__ import annotations

import pytest

from contracts.store import StoreContract, at
from contracts.store_entries import EntriesContract
from driftwise.log import open_store


class TestOnAServer(StoreContract, EntriesContract):
    @pytest.fixture
    def store(self, address):
        return open_store(address)

    def again(self, store):
        """With a connection of its own."""
        from driftwise.log.postgres import Postgres

        return Postgres(store.path)

    def make_pages_small(self, monkeypatch):
        monkeypatch.setattr("driftwise.log.study_log.PAGE", 5)

    def test_two_connections_see_each_other(self, store):
        first = store.create("a", "{}").ask("k", at(0.5), 1000)
        assert self.again(store).open("a").ask("k", at(0.1), 1000) == first
