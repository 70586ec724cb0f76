"""ARC by Figure 4 of its paper, with sizes: equal to the policy arc in every request."""
from collections import OrderedDict

import cachesim


class List(OrderedDict):
    """Objects with their sizes, the oldest first."""

    used = 0

    def put(self, object, size):
        self[object] = size
        self.used += size

    def take(self, object):
        size = self.pop(object)
        self.used -= size
        return size

    def oldest(self):
        object, size = self.popitem(last=False)
        self.used -= size
        return object, size


class ARC:
    def __init__(self, capacity):
        self.capacity, self.target = capacity, 0.0
        self.t1, self.t2, self.b1, self.b2 = List(), List(), List(), List()

    def listed(self, object):
        return next((l for l in (self.t1, self.t2, self.b1, self.b2) if object in l), None)

    def hit(self, object, size, time):
        size = (self.t1 if object in self.t1 else self.t2).take(object)
        self.t2.put(object, size)

    def miss(self, object, size, time):
        b1, b2 = self.b1, self.b2
        if object in b1:
            self.target = min(self.target + max(b2.used / b1.used, 1) * size, self.capacity)
        elif object in b2:
            self.target = max(self.target - max(b1.used / b2.used, 1) * size, 0)
        else:
            self.forget(size)

    def forget(self, size):
        while self.t1.used + self.b1.used + size > self.capacity and self.b1:
            self.b1.oldest()
        other = min(self.t1.used, self.capacity - size) + self.t2.used + self.b1.used + size
        while other + self.b2.used > 2 * self.capacity and self.b2:
            self.b2.oldest()

    def victim(self, object, size, time):
        t1, t2 = self.t1, self.t2
        if self.listed(object) is None and t1.used + size > self.capacity:
            return t1.oldest()[0]
        over = t1.used > self.target or t1.used == self.target and object in self.b2
        source, ghosts = (t1, self.b1) if t1 and (not t2 or over) else (t2, self.b2)
        victim, size = source.oldest()
        ghosts.put(victim, size)
        return victim

    def insert(self, object, size, time):
        ghosts = self.listed(object)
        if ghosts is not None:
            ghosts.take(object)
        (self.t1 if ghosts is None else self.t2).put(object, size)

    def remove(self, object):
        self.listed(object).take(object)

    def resized(self, object, size):
        resident = self.listed(object)
        resident.used += size - resident[object]
        resident[object] = size
        self.forget(0)
        while self.b1 and self.t1.used + self.t2.used + self.b1.used > 2 * self.capacity:
            self.b1.oldest()

    def resize(self, capacity):
        self.capacity, self.target = capacity, min(self.target, capacity)
        self.forget(0)


cachesim.run(ARC, source="Megiddo, Modha, ARC, FAST 2003")
