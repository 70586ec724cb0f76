// LRU, the shortest policy for cachesim.mjs: a Map keeps the order in which it was filled.
import { run } from "./cachesim.mjs";

class LRU {
  order = new Map(); // the oldest first

  constructor(capacity) {}

  hit(object) {
    this.order.delete(object);
    this.order.set(object, true);
  }

  insert(object) {
    this.order.set(object, true);
  }

  remove(object) {
    this.order.delete(object);
  }

  victim() {
    const oldest = this.order.keys().next().value;
    this.order.delete(oldest);
    return oldest;
  }
}

run(LRU, "lru in JavaScript");
