// Answers what LRUCache hits: ../../README.md says how it is asked.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { LRUCache } from 'lru-cache'

const recordBytes = 24
const removal = -2n

// Returns objects, numbered in the order of first requests, their sizes, and whether each record is a removal.
function read(path) {
  const bytes = readFileSync(path)
  const count = bytes.length / recordBytes
  const trace = { objects: new Uint32Array(count), sizes: new Uint32Array(count), removals: new Uint8Array(count) }
  const numbers = new Map()
  for (let i = 0; i < count; i++) {
    const at = i * recordBytes
    const id = bytes.readBigUInt64LE(at + 4)
    if (!numbers.has(id)) numbers.set(id, numbers.size)
    trace.objects[i] = numbers.get(id)
    trace.sizes[i] = bytes.readUInt32LE(at + 12)
    trace.removals[i] = bytes.readBigInt64LE(at + 16) === removal ? 1 : 0
  }
  return trace
}

function newCache(policy, capacity, unit) {
  if (policy !== 'LRUCache') throw new Error(`no policy ${policy}`)
  if (unit === 'objects') return new LRUCache({ max: capacity })
  return new LRUCache({ maxSize: capacity, sizeCalculation: size => size })
}

// Returns the numbers of requests, of hits, and of bytes that hit. The value of an object is its size.
function replay(cache, { objects, sizes, removals }) {
  let count = 0, hits = 0, hitBytes = 0
  for (let i = 0; i < objects.length; i++) {
    if (removals[i]) {
      cache.delete(objects[i])
      continue
    }
    count++
    if (cache.get(objects[i]) !== undefined) {
      hits++
      hitBytes += sizes[i]
    } else {
      cache.set(objects[i], sizes[i])
    }
  }
  return [count, hits, hitBytes]
}

function answer(trace, question) {
  try {
    const [policy, capacity, unit] = question.split('\t')
    return replay(newCache(policy, Number(capacity), unit), trace).join('\t')
  } catch (error) {
    return `error\t${error.message.replace(/\s+/g, ' ')}`
  }
}

const trace = read(process.argv[2])
for await (const question of createInterface({ input: process.stdin })) console.log(answer(trace, question))
