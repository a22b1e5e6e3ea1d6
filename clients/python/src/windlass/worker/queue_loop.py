"""Claims jobs of one queue and sends their outcomes.

Two threads, each with a connection: the sender completes finished jobs and claims the next in the same call; the
claimer waits for jobs when there are free slots and no outcome to send. At most one claim is in flight, so that
numbers are unique.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from .. import _calls, errors
from ..values import duration_text
from . import outcome
from .executors import AsyncExecutor, Executor, ThreadExecutor
from .held import SEQ_JUMP, Boot, HeldClaims
from .job import RunningJob, now
from .link import GivenUp, Link
from .outcome import Outcome, dumps

if TYPE_CHECKING:
    from .worker import Worker

log = logging.getLogger("windlass.worker")

_CLAIM_MAX = 100
_BATCH_MAX = 500
_BATCH_CHARS_MAX = 500_000
_WAIT = 20.0
# Jobs are claimed in advance for about this long, so that handlers never wait for a reply.
_AHEAD = 0.05
_AHEAD_MAX = 200


class QueueLoop:
    """The jobs of one queue."""

    def __init__(self, worker: Worker, queue: str, boot: Boot) -> None:
        self.queue = queue
        self._worker = worker
        self._condition = threading.Condition()
        self.held = HeldClaims(worker.lease)
        self.boot = boot
        self._outcomes: list[Outcome] = []
        self._unfinished = 0
        self._running = 0
        self._started_at = now()
        self._mean = -1.0
        self._is_claiming = False
        self._is_sending = False
        self._is_paused = False
        self._is_stopping = False
        self._is_ended = False
        self.counts: dict[str, int] = {}
        kind = AsyncExecutor if worker.registry.has_async else ThreadExecutor
        self._executor: Executor = kind(worker.registry, worker.concurrency, queue, self._start, self._finish)
        self._claim_link = Link(worker.address, self._may_claim)
        self._send_link = Link(worker.address, lambda: not self._is_ended)
        self._threads = [
            threading.Thread(target=target, name=f"windlass-{name}-{queue}", daemon=True)
            for name, target in (("claim", self._claim_jobs), ("send", self._send_outcomes))
        ]

    def start(self) -> None:
        """Starts to claim."""
        for thread in self._threads:
            thread.start()

    # Slots.

    def _prefetch(self) -> int:
        worker = self._worker
        if worker.prefetch is not None:
            return worker.prefetch
        if self._mean < 0:
            return 0
        return min(_AHEAD_MAX, int(worker.concurrency * _AHEAD / max(self._mean, 1e-6)))

    def _free(self) -> int:
        return self._worker.concurrency + self._prefetch() - self._unfinished

    def _may_claim(self) -> bool:
        return not (self._is_paused or self._is_stopping or self._is_ended)

    def _start(self, job: RunningJob) -> bool:
        """Called before a handler. A job that was lost or released in the meantime does not start."""
        with self._condition:
            if job.is_settled:
                return False
            self._running += 1
            self._started_at = now()
        if job.timeout is not None:
            self._worker.leases.watch_timeout(self, job, job.timeout)
        log.debug("job started", extra={"event": "job_started", "job": job})
        return True

    def _finish(self, ended: Outcome, took: float) -> None:
        """Called after a handler."""
        with self._condition:
            self._running -= 1
            self._mean = took if self._mean < 0 else 0.9 * self._mean + 0.1 * took
            if not ended.job.is_settled:
                self._settle(ended)

    def _settle(self, ended: Outcome) -> None:
        ended.job.is_settled = True
        self._unfinished -= 1
        self._outcomes.append(ended)
        self._condition.notify_all()

    # The claimer.

    def _claim_jobs(self) -> None:
        while True:
            with self._condition:
                while not self._is_ended and not self._should_wait_for_jobs():
                    self._condition.wait()
                if self._is_ended:
                    return
                claim = self._next_claim()
            try:
                self._claim(claim)
            except GivenUp:
                self._end_claim(claim, None)
            except errors.WindlassError as error:
                self._end_claim(claim, None)
                self._worker.fail(error)
                return

    def _should_wait_for_jobs(self) -> bool:
        is_sender_idle = not self._outcomes and not self._is_sending
        return self._may_claim() and not self._is_claiming and is_sender_idle and self._free() > 0

    def _next_claim(self) -> _Claim:
        """Begins a claim. The caller holds the lock, and ends it with `_end_claim`."""
        self._is_claiming = True
        self.boot.seq += 1
        return _Claim(self.boot, self.boot.seq, min(self._free(), _CLAIM_MAX), now())

    def _claim(self, claim: _Claim) -> None:
        path = _calls.path("queues", self.queue, "claim")
        body = self._claim_body(claim)

        def lost() -> None:
            # The same number returns the same jobs, unless the server advanced it while it waited.
            claim.was_lost = True
            body.pop("wait", None)

        def send() -> bytes:
            if not claim.was_lost:
                claim.sent_at = now()
            return dumps(body).encode()

        body["wait"] = duration_text(_WAIT)
        jobs = self._claim_link.post(path, send, _WAIT + 10.0, lost)
        self._end_claim(claim, jobs)

    def _claim_body(self, claim: _Claim) -> dict[str, Any]:
        lease = duration_text(self._worker.lease)
        return {"worker": claim.boot.id, "seq": claim.seq, "max": claim.max, "lease": lease}

    def _end_claim(self, claim: _Claim, raw: list[dict[str, Any]] | None) -> None:
        """Takes the jobs of a claim; None if its reply will not arrive."""
        client = self._worker.client
        jobs = [RunningJob(job, client) for job in raw or ()]
        boot, is_unsure = claim.boot, claim.was_lost or raw is None
        with self._condition:
            self._is_claiming = False
            if is_unsure:
                boot.seq = claim.seq + SEQ_JUMP
                boot.settled = boot.seq - 1
            else:
                boot.seq = boot.settled = max([claim.seq, *(job.get("seq") or 0 for job in raw or ())])
            if jobs:
                self.held.add(boot, claim.sent_at, jobs)
                self._unfinished += len(jobs)
                if self._is_stopping:
                    for job in jobs:
                        self._settle(outcome.released(job))
                else:
                    self._executor.submit(jobs)
            self._condition.notify_all()
        if is_unsure:
            self._worker.leases.renew_now()

    # The sender.

    def _send_outcomes(self) -> None:
        while True:
            with self._condition:
                self._is_sending = False
                self._condition.notify_all()
                while not self._outcomes and not self._is_ended:
                    self._condition.wait()
                if not self._outcomes:
                    return
                batch = self._take_batch()
                self._is_sending = True
                is_complete = any(ended.verb == "complete" for ended in batch)
                can_claim = is_complete and self._may_claim() and not self._is_claiming and self._free() > 0
                claim = self._next_claim() if can_claim else None
            try:
                self._send_batch(batch, claim)
            except GivenUp:
                return
            except errors.WindlassError as error:
                self._worker.fail(error)
                return

    def _take_batch(self) -> list[Outcome]:
        batch: list[Outcome] = []
        chars = 0
        for ended in self._outcomes[:_BATCH_MAX]:
            chars += len(ended.entry)
            if batch and chars > _BATCH_CHARS_MAX:
                break
            batch.append(ended)
        del self._outcomes[: len(batch)]
        return batch

    def _send_batch(self, batch: list[Outcome], claim: _Claim | None) -> None:
        for verb in ("fail", "release", "snooze", "complete"):
            of_verb = [ended for ended in batch if ended.verb == verb and ended.job.stop_reason != "lost"]
            if of_verb or (claim and verb == "complete"):
                self._send_verb(verb, of_verb, claim if verb == "complete" else None)
        with self._condition:
            for ended in batch:
                self.held.remove(ended.job)

    def _send_verb(self, verb: str, batch: list[Outcome], claim: _Claim | None) -> None:
        parts = [f'"jobs":[{",".join(ended.entry for ended in batch)}]']
        if claim:
            parts.append(f'"claim":{dumps(self._claim_body(claim))}')
        body = f"{{{','.join(parts)}}}".encode()
        path = _calls.path("queues", self.queue, verb)

        def send() -> bytes:
            if claim and not claim.was_repeated:
                claim.sent_at, claim.was_repeated = now(), True
            return body

        try:
            reply = self._send_link.post(path, send, 30.0)
        except GivenUp:
            if claim:
                self._end_claim(claim, None)
            raise
        except errors.InvalidRequest as error:
            if claim:
                # Nothing was done, so the number can be used again.
                self._end_claim(claim, [])
            self._refused(verb, batch, error)
            return
        if claim:
            self._end_claim(claim, reply["claimed"])
        for ended, status in zip(batch, reply["jobs"]):
            self._note(ended, status["outcome"])

    def _refused(self, verb: str, batch: list[Outcome], error: errors.InvalidRequest) -> None:
        """The server refused a batch: sends its jobs one by one, and fails the one that cannot be stored."""
        if len(batch) > 1:
            for ended in batch:
                self._send_verb(verb, [ended], None)
            return
        for ended in batch:
            fields = {"event": "outcomes_rejected", "job": ended.job, "code": error.code, "help": error.help}
            log.warning("the server refused an outcome: %s", error, extra=fields)
            if verb == "complete":
                refusal = f"the result cannot be stored: {error.message}"
                self._send_verb("fail", [outcome.failed(ended.job, refusal, is_permanent=True)], None)

    def _note(self, ended: Outcome, status: str) -> None:
        self.counts[status] = self.counts.get(status, 0) + 1
        if status == "completed" and not log.isEnabledFor(logging.DEBUG):
            return
        fields = {"event": "job_ended", "job": ended.job, "outcome": status}
        if status == "lease_lost":
            log.warning("lease lost", extra={**fields, "event": "lease_lost"})
        elif status == "dead":
            log.error("job is dead: %s", _error(ended), extra={**fields, "event": "job_dead"})
        elif ended.verb == "fail" and status == "scheduled":
            log.warning("attempt failed: %s", _error(ended), extra={**fields, "event": "attempt_failed"})
        else:
            log.debug("job ended: %s", status, extra=fields)

    # Leases, cancellation and timeouts; called by the lease thread.

    def lose(self, jobs: list[RunningJob]) -> None:
        """The leases of these jobs are lost, or may be."""
        with self._condition:
            for job in jobs:
                self.held.remove(job)
                if not job.is_settled:
                    job.is_settled = True
                    self._unfinished -= 1
                    self.counts["lease_lost"] = self.counts.get("lease_lost", 0) + 1
            self._condition.notify_all()
        for job in jobs:
            log.warning("lease lost", extra={"event": "lease_lost", "job": job})
            job.ask_to_stop("lost")

    def time_out(self, job: RunningJob, limit: float) -> None:
        """The attempt took too long. It fails now, even if the handler does not stop."""
        with self._condition:
            if job.is_settled:
                return
            self._settle(outcome.failed(job, f"the attempt timed out after {duration_text(limit)}"))
        job.ask_to_stop("timed_out")

    def renewals(self) -> list[Any]:
        """What to renew now."""
        with self._condition:
            return self.held.renewals(self.boot)

    def renewed(self, renewal: Any, sent_at: float, reply: dict[str, Any]) -> None:
        """Handles the reply to a renewal."""
        with self._condition:
            lost = self.held.renewed(renewal, sent_at, reply)
            cancel = self.held.find(set(reply["cancel"]))
        if lost:
            self.lose(lost)
        for job in cancel:
            if not job.is_settled:
                job.ask_to_stop("cancelled")

    def give_up_expired(self) -> None:
        """Gives up leases that could not be renewed."""
        with self._condition:
            expired = self.held.expired()
        if expired:
            self.lose(expired)

    def first_end(self) -> float | None:
        """When the first lease has to be given up."""
        with self._condition:
            return self.held.first_end()

    def running(self) -> list[dict[str, str]]:
        """The jobs for a heartbeat."""
        with self._condition:
            jobs = [job for claim in self.held.by_token.values() for job in claim.jobs.values()]
        return [{"queue": self.queue, "id": job.id} for job in jobs[:_CLAIM_MAX]]

    def release_stuck(self, after: float) -> None:
        """Releases jobs that were claimed in advance, if every slot has been busy for that long."""
        with self._condition:
            if now() - self._started_at < after or self._running < self._worker.concurrency:
                return
            for job in self._executor.take_back():
                if not job.is_settled:
                    self._settle(outcome.released(job))
            self._mean = max(self._mean, after)

    # Commands.

    def set_boot(self, boot: Boot) -> None:
        """The worker registered again."""
        with self._condition:
            self.boot = boot

    def pause(self, is_paused: bool) -> None:
        """Claims no jobs until it may continue."""
        with self._condition:
            self._is_paused = is_paused
            self._condition.notify_all()
        if is_paused:
            self._claim_link.close()

    def stop_claiming(self) -> None:
        """Claims no more jobs, and releases those that have not started."""
        with self._condition:
            self._is_stopping = True
            for job in self._executor.take_back():
                if not job.is_settled:
                    self._settle(outcome.released(job))
            self._condition.notify_all()
        self._claim_link.close()

    def wait_finished(self, until: float) -> bool:
        """Waits until every handler has returned."""
        with self._condition:
            return self._condition.wait_for(lambda: self._unfinished == 0, max(0.0, until - now()))

    def release_running(self) -> None:
        """Releases the jobs that still run, in the order of their claims, and asks their handlers to stop."""
        with self._condition:
            jobs = [job for claim in self.held.by_token.values() for job in claim.jobs.values() if not job.is_settled]
            for job in jobs:
                self._settle(outcome.released(job))
        for job in jobs:
            job.ask_to_stop("stopping")

    def flush(self, until: float) -> bool:
        """Waits until every outcome was sent, then ends the threads. Returns False if time was up."""
        with self._condition:
            is_empty = self._condition.wait_for(
                lambda: not self._outcomes and not self._is_sending, max(0.0, until - now())
            )
            self._is_ended = True
            self._condition.notify_all()
        self._claim_link.close()
        self._send_link.close()
        self._executor.close()
        return is_empty


class _Claim:
    """A claim in flight."""

    def __init__(self, boot: Boot, seq: int, max: int, sent_at: float) -> None:
        self.boot, self.seq, self.max, self.sent_at = boot, seq, max, sent_at
        self.was_lost = False
        self.was_repeated = False


def _error(ended: Outcome) -> str:
    start = ended.entry.find('"error":"')
    return ended.entry[start + 9 :].split("\\n")[0].rstrip('"}') if start >= 0 else ""
