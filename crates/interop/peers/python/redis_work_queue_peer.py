"""The real redis-work-queue client for Python, driven line by line from a test.

A line is an operation and its arguments, separated by tabs. The reply is one line: `ok` with
the result, or `failed` with the error. Every operation uses a new connection, so that a lost one
affects only that operation.
"""

import contextlib
import sys

import redis
from redis_work_queue import Item, KeyPrefix, WorkQueue

queue = WorkQueue(KeyPrefix(sys.argv[1]))


def item_reply(item):
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


def run(db, operation, args):
    if operation in ("add", "add-unique"):
        queue.add_item(db, Item(args[1], id=args[0]))
        return []
    if operation == "add-many":
        for number in range(int(args[1]), int(args[2])):
            name = "%s%d" % (args[0], number)
            queue.add_item(db, Item("data of " + name, id=name))
        return []
    if operation == "lease":
        return item_reply(queue.lease(db, int(args[0]), False))
    if operation == "lease-wait":
        return item_reply(queue.lease(db, int(args[0]), True, int(args[1])))
    if operation == "complete":
        return [str(queue.complete(db, Item(b"", id=args[0])))]
    if operation == "light-clean":
        queue.light_clean(db)
        return []
    if operation == "counts":
        return [str(queue.queue_len(db)), str(queue.processing(db))]
    if operation == "work":
        return work(db, args[0])
    raise ValueError("unknown operation: " + operation)


for line in sys.stdin:
    operation, port, *args = line.rstrip("\n").split("\t")
    db = redis.Redis(host="127.0.0.1", port=int(port))
    try:
        # The client prints during a clean.
        with contextlib.redirect_stdout(sys.stderr):
            reply = ["ok", *run(db, operation, args)]
    except redis.RedisError as error:
        reply = ["failed", repr(error)]
    finally:
        db.close()
    print("\t".join(reply), flush=True)
