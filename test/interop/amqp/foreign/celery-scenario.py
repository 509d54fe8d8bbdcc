"""Celery with one worker in this process: python celery-scenario.py PORT. Ends with `ok`."""

import sys

from celery import Celery, chain, group
from celery.contrib.testing.worker import start_worker

app = Celery("scenario", broker=f"amqp://guest:guest@127.0.0.1:{sys.argv[1]}//", backend="rpc://")
app.conf.update(task_acks_late=True, task_default_queue="celery.scenario", worker_hijack_root_logger=False)
# The queue of results goes by itself, so many seconds after its last use.
app.conf.result_expires = 5


@app.task
def add(x, y):
    return x + y


@app.task(bind=True, max_retries=2)
def flaky(self, x):
    if self.request.retries < 1:
        raise self.retry(countdown=0.2)
    return x * 2


with start_worker(app, perform_ping_check=False, loglevel="ERROR", concurrency=2):
    assert add.delay(2, 3).get(timeout=20) == 5
    assert group(add.s(i, i) for i in range(20))().get(timeout=20) == [2 * i for i in range(20)]
    assert chain(add.s(1, 2), add.s(4))().get(timeout=20) == 7
    # Tasks for later hold a place in the prefetch, which grows while the worker runs.
    later = [add.apply_async((i, 1), countdown=0.5) for i in range(10)]
    assert [result.get(timeout=20) for result in later] == [i + 1 for i in range(10)]
    assert flaky.delay(21).get(timeout=20) == 42
    assert app.control.ping(timeout=2)

with app.connection_for_write() as connection:
    channel = connection.channel()
    channel.queue_delete("celery.scenario")
    for name in ("celery.scenario", "celery.pidbox", "reply.celery.pidbox", "celeryev"):
        channel.exchange_delete(name)
print("ok")
