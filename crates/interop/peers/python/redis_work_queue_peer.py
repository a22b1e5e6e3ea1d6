"""The real redis-work-queue client for Python, driven line by line from a test.

A line is an operation and its arguments, separated by tabs; the answer is one line: `ok` with what
came out, or `failed` with why. Every operation has a connection of its own, so that a lost one
ends that operation and nothing else.
"""

import contextlib
import sys

import redis
from redis_work_queue import Item, KeyPrefix, WorkQueue

queue = WorkQueue(KeyPrefix(sys.argv[1]))


def told(item):
    if item is None:
        return ["none"]
    return ["item", item.id(), item.data().decode("utf-8")]


def work(db, lease):
    """Leases and completes until both lists are empty."""
    handled = []
    while True:
        item = queue.lease(db, int(lease), True, 1)
        if item is not None:
            done = queue.complete(db, item)
            handled.append("%s=%s=%s" % (item.id(), item.data().decode("utf-8"), done))
        elif queue.queue_len(db) == 0 and queue.processing(db) == 0:
            return handled


def do(db, operation, words):
    if operation in ("add", "add-unique"):
        queue.add_item(db, Item(words[1], id=words[0]))
        return []
    if operation == "add-many":
        for number in range(int(words[1]), int(words[2])):
            name = "%s%d" % (words[0], number)
            queue.add_item(db, Item("data of " + name, id=name))
        return []
    if operation == "lease":
        return told(queue.lease(db, int(words[0]), False))
    if operation == "lease-wait":
        return told(queue.lease(db, int(words[0]), True, int(words[1])))
    if operation == "complete":
        return [str(queue.complete(db, Item(b"", id=words[0])))]
    if operation == "light-clean":
        queue.light_clean(db)
        return []
    if operation == "counts":
        return [str(queue.queue_len(db)), str(queue.processing(db))]
    if operation == "work":
        return work(db, words[0])
    raise ValueError("no such operation: " + operation)


for line in sys.stdin:
    operation, port, *words = line.rstrip("\n").split("\t")
    db = redis.Redis(host="127.0.0.1", port=int(port))
    try:
        # The client prints what it cleans.
        with contextlib.redirect_stdout(sys.stderr):
            answer = ["ok", *do(db, operation, words)]
    except redis.RedisError as error:
        answer = ["failed", repr(error)]
    finally:
        db.close()
    print("\t".join(answer), flush=True)
