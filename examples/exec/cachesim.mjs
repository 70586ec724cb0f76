// Lets a class decide what a cache evicts: cachesim run TRACE --policy 'exec(command="node my.mjs")'. The class is as
// that of cachesim.py.
import { readSync, writeSync } from "node:fs";

const kinds = ["hit", "miss", "insert", "remove", "resized", "resize", "grow", "victim", "admit"]; // from 1
const none = 0xffffffff; // as an object: none

export function run(Policy, name = Policy.name, source = "") {
  const data = Buffer.alloc(1 << 20), answer = Buffer.alloc(4);
  let end = readSync(0, data); // the greeting is one line
  const told = Object.fromEntries(data.toString("latin1", 0, end).trim().split(" ").slice(2).map((w) => w.split("=")));
  const p = new Policy(Number(told.capacity));
  const events = [["hits", "hit"], ["misses", "miss"], ["admit", "admit"]];
  const wants = events.filter(([, kind]) => p[kind]).map(([want]) => want);
  writeSync(1, `policy 1 "name=${name}" "source=${source}" format=binary wants=${wants}\n`);
  const view = new DataView(data.buffer, data.byteOffset);
  const number = (at) => view.getUint32(at, true) + view.getInt32(at + 4, true) * 2 ** 32;
  for (end = 0; ; ) {
    const read = readSync(0, data, end, data.length - end);
    if (read === 0) return;
    end += read;
    let at = 0;
    for (; at + 32 <= end; at += 32) {
      const kind = data[at], object = view.getUint32(at + 4, true), size = number(at + 8), time = number(at + 16);
      const method = kinds[kind - 1];
      if (kind >= 8) {
        answer.writeUInt32LE(Number(p[method](object === none ? null : object, size, time) ?? none));
        writeSync(1, answer);
      } else if (p[method]) {
        if (object === none) p[method](size);
        else p[method](object, size, time);
      }
    }
    data.copyWithin(0, at, end);
    end -= at;
  }
}
