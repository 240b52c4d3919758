"""Calls that run in threads of their own, so that no interrupt reaches them.

Ctrl-C and alarms raise their exceptions in the main thread, between any two of its statements. A transaction that runs
in another thread is never cut in two: whoever waits for it may be interrupted, and it is done as a whole or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class ThreadJob:
    """A call, and what came of it. The one who waits waits for the lock `done`, which the thread releases.

    A `threading.Event` would not do: it has a lock of its own, which an interrupted waiter may leave locked.
    """

    __slots__ = ("done", "error", "given_up", "result", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work, self.given_up = work, False
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        try:
            if not self.given_up:
                self.result = self.work()
        except BaseException as error:
            self.error = error
        self.done.release()


Jobs = SimpleQueue[ThreadJob | None]  # None ends all threads that wait for a job


class _Shared:
    """What the threads share with those who call. They do not hold the `Threads`, so that it is let go when unused."""

    def __init__(self) -> None:
        self.jobs: Jobs = SimpleQueue()
        self.lock = threading.RLock()  # of the list of threads; a thread never takes it, for it may be waited for
        self.counting = threading.Lock()
        self.turn = threading.Lock()  # held by the only thread, of which an interrupt may have made two
        self.open = 0  # calls that are not done
        self.threads: list[threading.Thread] = []


class Threads:
    """At most so many threads that take the calls in the order in which they come. They end with the process."""

    def __init__(self, most: int) -> None:
        self._most, self._shared = most, _Shared()

    def run(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns. Interrupted, it does all of its work or nothing."""
        assert threading.current_thread() not in self._shared.threads, "a transaction must not begin another one"
        job = ThreadJob(work)
        try:
            self._put(job)
            job.done.acquire()
        except BaseException:
            job.given_up = True
            raise
        try:
            if job.error is not None:
                raise job.error
            result: Result = job.result
            return result
        finally:
            del job  # an error's traceback would hold it, and it the error

    def _put(self, job: ThreadJob) -> None:
        shared = self._shared
        with shared.lock:
            with shared.counting:
                shared.open += 1
            shared.jobs.put(job)
            if len(shared.threads) < min(max(shared.open, 1), self._most):
                arguments = (shared, shared.jobs, self._most == 1)
                thread = threading.Thread(target=_work, args=arguments, name="log", daemon=True)
                thread.start()
                shared.threads.append(thread)

    def end(self) -> None:
        """End the threads when they have done what was asked of them. Further calls begin new ones."""
        shared = self._shared
        with shared.lock:
            shared.jobs.put(None)
            shared.jobs, shared.threads = SimpleQueue(), []

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While this lasts, no thread is there. What is asked for meanwhile waits."""
        shared = self._shared
        with shared.lock:
            threads = shared.threads
            self.end()
            for thread in threads:
                thread.join()
            yield

    def forget(self) -> None:
        """In a child that was forked: the threads are not there, and neither are those who wait for them."""
        self._shared = _Shared()


def _work(shared: _Shared, jobs: Jobs, is_alone: bool) -> None:
    """What a thread does. It holds nothing between two calls, so that a store that nobody uses is let go."""
    while (job := jobs.get()) is not None:
        if is_alone:
            with shared.turn:
                job.run()
        else:
            job.run()
        del job
        with shared.counting:
            shared.open -= 1
    jobs.put(None)  # for the next: an interrupt may have begun one of which nobody knows
