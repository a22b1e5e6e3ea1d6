"""The claims that a worker holds on one queue: their tokens, until when each lease lasts, and which jobs are open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .job import RunningJob, now

# How far the numbers of claims jump after a claim that waited and whose reply was lost: the server used some
# numbers, fewer than these.
SEQ_JUMP = 1_000_000


@dataclass
class Boot:
    """A registration of the worker, and the number of its last claim on the queue."""

    id: str
    seq: int = 0
    # The highest number whose reply arrived or is no longer awaited.
    settled: int = 0


@dataclass
class HeldClaim:
    """One claim."""

    boot: Boot
    ends_at: float
    jobs: dict[str, RunningJob] = field(default_factory=dict)


class Renewal(NamedTuple):
    """What one renewal covers."""

    boot: Boot
    tokens: list[str]
    settled: int


class HeldClaims:
    """The claims of one queue. Not thread-safe: the queue loop has a lock."""

    def __init__(self, lease: float) -> None:
        self.lease = lease
        # Before the store ends a lease, the worker gives it up.
        self.margin = min(lease / 6, 2.0)
        self.by_token: dict[str, HeldClaim] = {}

    def add(self, boot: Boot, sent_at: float, jobs: list[RunningJob]) -> None:
        """Adds a claim whose request was sent then."""
        for job in jobs:
            claim = self.by_token.get(job.token)
            if claim is None:
                claim = self.by_token[job.token] = HeldClaim(boot, sent_at + self.lease)
            claim.jobs[job.id] = job

    def remove(self, job: RunningJob) -> bool:
        """The outcome of a job is known. Returns whether it was held."""
        claim = self.by_token.get(job.token)
        if claim is None or claim.jobs.pop(job.id, None) is None:
            return False
        if not claim.jobs:
            del self.by_token[job.token]
        return True

    def renewals(self, current: Boot) -> list[Renewal]:
        """What to renew. The current boot is always renewed, since a lost claim of it may exist."""
        tokens: dict[str, tuple[Boot, list[str]]] = {current.id: (current, [])}
        for token, claim in self.by_token.items():
            tokens.setdefault(claim.boot.id, (claim.boot, []))[1].append(token)
        return [Renewal(boot, held, boot.settled) for boot, held in tokens.values() if held or boot.settled]

    def renewed(self, renewal: Renewal, sent_at: float, reply: dict[str, Any]) -> list[RunningJob]:
        """Extends the leases. Returns the jobs whose lease is lost."""
        lost = set(reply["lost"])
        unreached = set(reply.get("unreached") or ())
        jobs: list[RunningJob] = []
        for token in renewal.tokens:
            claim = self.by_token.get(token)
            if claim is None:
                continue
            if token in lost:
                jobs += claim.jobs.values()
            elif token not in unreached:
                claim.ends_at = sent_at + self.lease
        return jobs

    def expired(self) -> list[RunningJob]:
        """The jobs whose lease may end before it can be renewed."""
        at = now() + self.margin
        return [job for claim in self.by_token.values() if claim.ends_at <= at for job in claim.jobs.values()]

    def first_end(self) -> float | None:
        """When the first lease has to be given up."""
        ends = [claim.ends_at for claim in self.by_token.values()]
        return min(ends) - self.margin if ends else None

    def find(self, ids: set[str]) -> list[RunningJob]:
        """The jobs with these ids."""
        return [claim.jobs[id] for claim in self.by_token.values() for id in ids & claim.jobs.keys()]
