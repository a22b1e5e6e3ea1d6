"""The real Blueque client, driven line by line from a test.

A line is {"url": ..., "steps": [[name, argument, ...], ...]}. Each line runs in a separate process,
which ends afterwards, so that its listener is dead. Replies are lines of JSON, followed by "end"
with the status of that process. With the arguments `work URL QUEUE` it is a worker that never ends.
"""

import json
import os
import sys
import time

import blueque
from blueque.forking_runner import ForkingRunner


def task_fields(task):
    return {"id": task.id, "status": task.status, "queue": task.queue, "parameters": task.parameters,
            "result": task.result, "error": task.error, "node": task.node, "pid": task.pid,
            "created": task.created, "updated": task.updated}


class Operations:
    def __init__(self, url):
        self.client = blueque.Client(url)
        self.task = None
        self.listener = None

    def enqueue(self, queue, parameters):
        return self.client.get_queue(queue).enqueue(parameters)

    def schedule(self, queue, parameters, eta):
        return self.client.get_queue(queue).schedule(parameters, eta)

    def due(self, queue):
        self.client.get_queue(queue).enqueue_due_tasks()

    def join(self, queue):
        self.listener = self.client.get_listener(queue)
        return self.listener._name

    def listen(self):
        self.task = self.listener.listen()
        return task_fields(self.task)

    def orphan(self):
        self.task = self.listener.claim_orphan()
        return self.task and task_fields(self.task)

    def start(self):
        self.processor = self.client.get_processor(self.task)
        self.processor.start(os.getpid())

    def complete(self, result):
        self.processor.complete(result)

    def fail(self, error):
        self.processor.fail(error)

    def get(self, id):
        return task_fields(self.client.get_task(id))

    def delete(self, queue, id):
        self.client.get_queue(queue).delete_task(self.client.get_task(id))


def reply(value):
    print(json.dumps(value), flush=True)


def run_order(order):
    operations = Operations(order["url"])
    for name, *arguments in order["steps"]:
        reply(getattr(operations, name)(*arguments))


def serve():
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run_order(order)
                status = 0
            except Exception as error:
                print(repr(error), file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        reply({"end": os.WEXITSTATUS(status)})


def work(url, queue):
    operations = Operations(url)
    operations.join(queue)
    while True:
        task = operations.listen()
        operations.start()
        reply(task["id"])
        operations.complete("theirs " + task["parameters"])


def run(url, queue):
    ForkingRunner(blueque.Client(url), queue, lambda task: "theirs " + task.parameters).run()


def sleep(url, queue):
    ForkingRunner(blueque.Client(url), queue, lambda task: time.sleep(3600)).run()


if len(sys.argv) > 1:
    {"work": work, "run": run, "sleep": sleep}[sys.argv[1]](*sys.argv[2:])
else:
    serve()
