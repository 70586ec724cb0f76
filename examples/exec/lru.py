"""LRU, the shortest policy for cachesim.py."""
from collections import OrderedDict

import cachesim


class LRU:
    def __init__(self, capacity):
        self.order = OrderedDict()  # the oldest first

    def hit(self, object, size, time):
        self.order.move_to_end(object)

    def insert(self, object, size, time):
        self.order[object] = True

    def remove(self, object):
        del self.order[object]

    def victim(self, object, size, time):
        return self.order.popitem(last=False)[0]


cachesim.run(LRU, name="lru in Python")
