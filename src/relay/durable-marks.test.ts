import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DurableMarks } from './durable-marks.ts'
import type { LedgerClient } from './ledger-client.ts'
import type { RelayContext } from './request-context.ts'

interface PendingMark {
  readonly mark: string
  readonly commit: PromiseWithResolvers<void>
}

/** Marks that are sent to a ledger, which commits them when the test asks for it. */
class TestLedger {
  #pending: PendingMark[] = []
  #failures = 0

  start(id: string): DurableMarks {
    const context = { id, request: { inputTokens: () => 7 } } as Partial<RelayContext> as RelayContext
    const listener = { onMarked: () => undefined, onStoreFailed: () => (this.#failures += 1) }
    return new DurableMarks(this.#client, context, listener).shareMarks()
  }

  /** Ends all marks that were sent, and returns them. */
  async commit(isFailure = false): Promise<string[]> {
    const marks = this.#pending
    this.#pending = []
    for (const { commit } of marks) {
      if (isFailure) commit.reject(new Error('The disk is full.'))
      else commit.resolve()
    }
    await new Promise(setImmediate)
    return marks.map(({ mark }) => mark)
  }

  get failures(): number {
    return this.#failures
  }

  readonly #client = {
    mark: (id: string, inputTokens: number, outputTokens: number) => {
      const commit = Promise.withResolvers<void>()
      this.#pending.push({ mark: `${id} ${inputTokens} ${outputTokens}`, commit })
      return commit.promise
    },
  } as Partial<LedgerClient> as LedgerClient
}

describe('DurableMarks', () => {
  test('receive – marks the first token, and then every 32', async () => {
    const ledger = new TestLedger()
    const marks = ledger.start('a')
    marks.receive(0)
    assert.deepEqual(await ledger.commit(), [])
    marks.receive(2)
    assert.equal(marks.tokens, 0)
    assert.deepEqual(await ledger.commit(), ['a 7 2'])
    assert.equal(marks.tokens, 2)
    marks.receive(33)
    assert.deepEqual(await ledger.commit(), [])
    marks.receive(34)
    marks.receive(70)
    assert.deepEqual(await ledger.commit(), ['a 7 34'])
    assert.deepEqual(await ledger.commit(), ['a 7 70'])
    assert.equal(marks.tokens, 70)
  })

  test('receive – marks other streams in the same commit if they have 12 tokens to mark', async () => {
    const ledger = new TestLedger()
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => ledger.start(id))
    for (const stream of [a, b, c, d]) stream?.receive(1)
    await ledger.commit()
    b?.receive(13)
    c?.receive(12)
    d?.receive(32)
    d?.stop()
    assert.deepEqual(await ledger.commit(), [])
    a?.receive(33)
    assert.deepEqual(await ledger.commit(), ['a 7 33', 'b 7 13'])
    assert.deepEqual([a?.tokens, b?.tokens, c?.tokens], [33, 13, 1])
    c?.receive(33)
    assert.deepEqual(await ledger.commit(), ['c 7 33'])
  })

  test('receive – looks for other streams once for each commit', async () => {
    const ledger = new TestLedger()
    const [a, b, c] = ['a', 'b', 'c'].map((id) => ledger.start(id))
    for (const stream of [a, b, c]) stream?.receive(1)
    await ledger.commit()
    a?.receive(33)
    c?.receive(20)
    b?.receive(33)
    assert.deepEqual(await ledger.commit(true), ['a 7 33', 'b 7 33'])
    assert.equal(ledger.failures, 2)
    c?.receive(33)
    const next = ledger.start('e')
    next.receive(1)
    assert.deepEqual(await ledger.commit(), ['c 7 33', 'e 7 1'])
  })
})
