"""The real Blueque client, told by lines what to do.

A line is {"url": ..., "steps": [[name, argument, ...], ...]}. Each is done by a process of its own,
which ends afterwards: what it was to its peers is dead then. Answers are lines of JSON, and "end"
with the status of that process. `work QUEUE` as arguments is a worker that never ends.
"""

import json
import os
import sys
import time

import blueque
from blueque.forking_runner import ForkingRunner


def shown(task):
    return {"id": task.id, "status": task.status, "queue": task.queue, "parameters": task.parameters,
            "result": task.result, "error": task.error, "node": task.node, "pid": task.pid,
            "created": task.created, "updated": task.updated}


class Steps:
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
        return shown(self.task)

    def orphan(self):
        self.task = self.listener.claim_orphan()
        return self.task and shown(self.task)

    def start(self):
        self.processor = self.client.get_processor(self.task)
        self.processor.start(os.getpid())

    def complete(self, result):
        self.processor.complete(result)

    def fail(self, error):
        self.processor.fail(error)

    def get(self, id):
        return shown(self.client.get_task(id))

    def delete(self, queue, id):
        self.client.get_queue(queue).delete_task(self.client.get_task(id))


def say(value):
    print(json.dumps(value), flush=True)


def follow(order):
    steps = Steps(order["url"])
    for name, *arguments in order["steps"]:
        say(getattr(steps, name)(*arguments))


def serve():
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                follow(order)
                status = 0
            except Exception as error:
                print(repr(error), file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        say({"end": os.WEXITSTATUS(status)})


def work(url, queue):
    steps = Steps(url)
    steps.join(queue)
    while True:
        task = steps.listen()
        steps.start()
        say(task["id"])
        steps.complete("theirs " + task["parameters"])


def run(url, queue):
    ForkingRunner(blueque.Client(url), queue, lambda task: "theirs " + task.parameters).run()


def sleep(url, queue):
    ForkingRunner(blueque.Client(url), queue, lambda task: time.sleep(3600)).run()


if len(sys.argv) > 1:
    {"work": work, "run": run, "sleep": sleep}[sys.argv[1]](*sys.argv[2:])
else:
    serve()
