"""Allocates objects of many kinds, in functions that call each other, generators, comprehensions, callbacks from C, and threads."""
import _thread
import sys

keep = {}


class Node:
    def __init__(self, i):
        self.i = i
        self.name = "node %d" % i
        self.more = {
            "a": [i] * (i % 7),
            "b": bytes(i % 300 + 520),
        }


def generator(n):
    for i in range(n):
        x = bytearray(600 + i)
        yield x


def recursive(depth, i):
    block = bytearray(530 + depth)
    if depth:
        return recursive(depth - 1, i) + [block]
    return [block]


def key(x):
    return str(x) * 300


def work(rounds, name):
    for i in range(rounds):
        keep[name, i % 50] = Node(i)
        a = [bytes(515 + j) for j in range(5)]
        b = list(generator(4))
        c = recursive(i % 9, i)
        d = sorted(range(6), key=key)
        e = str(list(map(lambda x: str(x) * 200, range(5))))
        f = "".join(
            "%d-%s" % (i, e)
            for _ in range(3))
        try:
            raise ValueError("no %d" % i)
        except ValueError as error:
            g = str(error)
        keep[name, -1] = {j: (i, f, g, a, b, c, d) for j in range(30)}
        exec("h = [i, %r]" % f)


def thread(rounds, name, done):
    work(rounds, name)
    done.release()


rounds = int(sys.argv[1])
work(rounds, "main")
locks = [_thread.allocate_lock() for _ in "abc"]
for n, lock in zip("abc", locks):
    lock.acquire()
    _thread.start_new_thread(thread, (rounds // 4, n, lock))
for lock in locks:
    lock.acquire()
