/**
 * Waiting in tests: for a condition, for as long as something must not happen, and for a time only where slowness is
 * the script. Nothing else in a test waits (test/conventions.test.ts).
 */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

/** Long enough for a machine ten times slower. */
const defaultTimeoutMs = 60_000
const [minIntervalMs, maxIntervalMs] = [5, 50]

/** What a poll returns when it has found something: anything but these. */
type Found<Value> = Exclude<Value, false | null | undefined>

/**
 * Polls until `poll` returns neither false nor null nor undefined, and returns that. For what no event reports; the
 * interval grows with the time waited, so that a poll costs little and finds soon.
 */
export async function waitUntil<Value>(
  poll: () => Value | Promise<Value>,
  what: string = poll.toString(),
  timeoutMs: number = defaultTimeoutMs,
): Promise<Found<Value>> {
  const startedMs = performance.now()
  for (;;) {
    const found = await poll()
    if (found !== undefined && found !== null && found !== false) return found as Found<Value>
    const waitedMs = performance.now() - startedMs
    assert.ok(waitedMs < timeoutMs, `waited ${timeoutMs} ms in vain for ${what}`)
    await delay(Math.min(maxIntervalMs, minIntervalMs + waitedMs / 5))
  }
}

/** Fails if the condition becomes true within the time. `reason`: why no event shows that it never will. */
export async function staysFalse(
  condition: () => boolean | Promise<boolean>,
  forMs: number,
  reason: string,
): Promise<void> {
  for (const startedMs = performance.now(); performance.now() - startedMs < forMs;) {
    assert.ok(!(await condition()), `${condition.toString()} became true, ${reason}`)
    await delay(Math.min(maxIntervalMs, forMs / 10))
  }
  assert.ok(!(await condition()), `${condition.toString()} became true, ${reason}`)
}

/** Waits until a number has grown by no more than this for so long, and returns it: bytes that a buffer lets pass. */
export async function waitUntilUnchanged(read: () => number, forMs: number, tolerance = 0): Promise<number> {
  for (let last = read(); ;) {
    await delay(forMs)
    const now = read()
    if (now - last <= tolerance) return now
    last = now
  }
}

/**
 * Slowness that a test scripts: an upstream that takes its time, the pace of a client, the moment of a kill. Nothing is
 * expected to have happened by its end.
 */
export async function scriptedDelay(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal && { signal }).catch(() => undefined)
}
