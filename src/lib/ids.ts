/**
 * Identifiers that sort by creation time: prefix, `_`, then 26 characters of base32 that encode 48 bits of
 * milliseconds, a 15-bit counter and 65 random bits. This is a ULID in lower case; the counter keeps the ids of one
 * thread in order within a millisecond, as RFC 9562 §6.2 does for UUIDv7.
 */

import { randomFillSync } from 'node:crypto'

/** Crockford's base32 in lower case: no i, l, o, u, and its order is the order of the bytes. */
const symbols = '0123456789abcdefghjkmnpqrstvwxyz'.split('')
const timeLength = 10
const randomLength = 13
const maxCounter = 0x7fff

/** One call for 8 KiB of random bytes serves 630 ids. */
const pool = new Uint8Array(8192)
let poolAt = pool.length

let lastMs = 0
let lastTime = ''
let counter = 0

function randomByte(): number {
  if (poolAt >= pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  return pool[poolAt++] ?? 0
}

function encode(value: number, length: number): string {
  let text = ''
  let rest = value
  for (let index = 0; index < length; index += 1) {
    text = (symbols[rest % 32] ?? '') + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** Keeps later ids greater, even if the clock steps back or the counter of a millisecond overflows. */
function advanceClock(nowMs: number): void {
  if (nowMs > lastMs) {
    lastMs = nowMs
  } else {
    counter += 1
    if (counter <= maxCounter) return
    lastMs += 1
  }
  lastTime = encode(lastMs, timeLength)
  // The counter starts at a random value in its lower half, so that a burst has room and the first id reveals nothing.
  counter = ((randomByte() << 8) | randomByte()) & 0x3fff
}

/** Generates an id: `newId('acc')` → `acc_01kaj3v…`. Unique across nodes, increasing within a thread. */
export function newId(prefix: string): string {
  advanceClock(Date.now())
  let id = `${prefix}_${lastTime}${symbols[counter >> 10] ?? ''}${symbols[(counter >> 5) & 31] ?? ''}${symbols[counter & 31] ?? ''}`
  // 256 is a multiple of 32: the low five bits of a random byte are uniform.
  for (let index = 0; index < randomLength; index += 1) id += symbols[randomByte() & 31] ?? ''
  return id
}
