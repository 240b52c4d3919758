"""`driftwise serve`: studies behind HTTP. The core never imports this package; it needs the extra `serve`.

Read the modules in this order.

1. `settings`: what is served, where, and within which limits.
2. `studies`: the studies of a store by name. Work on them runs beside the event loop, one call at a time per study.
   `open_studies`, `choosing` and `groups` are how: studies stay open, policies choose in threads or processes of their
   own, and tells that arrive together are written together.
3. `events`: what changed, as small events, whoever changed it.
4. `database`, `tokens`, `sessions`, `access`: the service's own tables, who may do what, and how a route asks for it.
5. `problems`, `limits`, `headers`, `logs`, `telemetry`, `audit`: errors, bounds, safety, and what is written down.
6. `api`: the routes of /v1; `strict` has what their requests have in common. `app` puts everything together, and `run`
   listens, with the protocol of `impatient`.
7. `fleets`: fleets in batches, and `fleet_client`, which calls them.
8. `client`: a `Study` whose store is such a service. `wire` is what both sides agree on.
"""
