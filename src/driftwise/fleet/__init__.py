"""Many streams behind one interface. Read `journal` first: the durable log of a shard."""
