import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SilentNodes } from './silent-nodes.ts'

const secondMs = 1000

/** Observes every two seconds from `from` to `to`, in seconds; node `b` is silent since `since`, node `a` is not. */
function observe(nodes: SilentNodes, { from, to, since }: { from: number; to: number; since: number }): void {
  for (let at = from; at <= to; at += 2) {
    const seenAt = Math.min(at, since)
    nodes.observe(
      [
        { id: 'a', seenAt: at },
        { id: 'b', seenAt },
      ],
      at * secondMs,
    )
  }
}

const silentIds = (nodes: SilentNodes): string[] => nodes.silentFor(30 * secondMs).map(({ id }) => id)

describe('SilentNodes', () => {
  test('node without heartbeats – is silent once that was observed for the whole time', () => {
    const nodes = new SilentNodes()
    observe(nodes, { from: 0, to: 38, since: 10 })
    assert.deepEqual(silentIds(nodes), [])
    observe(nodes, { from: 40, to: 40, since: 10 })
    assert.deepEqual(silentIds(nodes), ['b'])
    observe(nodes, { from: 42, to: 42, since: 42 })
    assert.deepEqual(silentIds(nodes), [])
  })

  test('outage of the database, or a freeze of the observer – says nothing about other nodes', () => {
    const nodes = new SilentNodes()
    observe(nodes, { from: 0, to: 10, since: 10 })
    // Nobody could send a heartbeat for ten minutes. Living nodes have 25 s for the next one.
    observe(nodes, { from: 610, to: 634, since: 10 })
    assert.deepEqual(silentIds(nodes), [])
    observe(nodes, { from: 636, to: 700, since: 636 })
    assert.deepEqual(silentIds(nodes).length, 1)
  })

  test('node that was just seen for the first time – has the whole time', () => {
    const nodes = new SilentNodes()
    observe(nodes, { from: 1000, to: 1028, since: 0 })
    assert.deepEqual(silentIds(nodes), [])
    observe(nodes, { from: 1030, to: 1030, since: 0 })
    assert.deepEqual(silentIds(nodes), ['b'])
  })
})
