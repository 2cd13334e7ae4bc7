import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LedgerEvent } from './events.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import { nanoPrice } from './ledger.fixture.ts'
import type { Price } from './price.ts'

const held: LedgerEvent = {
  kind: 'held',
  id: 'req_1',
  at: 1,
  account: 'acc_1',
  key: 'key_1',
  model: 'm',
  amount: 5n,
  price: nanoPrice,
  factorPpm: 1_000_000,
  inputTokens: 1,
  outputTokens: 2,
  dayEnd: 3,
  monthEnd: 4,
  claim: undefined,
  countsForModel: undefined,
  terms: undefined,
}
const usage = { input: 9, cachedInput: 1, cacheWrite: 6, output: 3, reasoning: 0 }
const settled: LedgerEvent = {
  kind: 'settled',
  id: 'req_1',
  at: 2,
  cause: 'provider',
  usage,
  charge: 5n,
  overrun: 0n,
}

describe('journal encoding', () => {
  test('one-hour cache writes – survive encoding, with and without a claim', () => {
    const price = { ...nanoPrice, cacheWrite1h: 8n }
    const claim = { key: 'k', body: 'b' }
    const events: LedgerEvent[] = [
      held,
      { ...held, claim },
      { ...held, claim, countsForModel: true },
      { ...held, countsForModel: true },
      { ...held, price },
      { ...held, price, claim },
      { ...held, price: { ...price, cacheWrite: 5n } },
      settled,
      { ...settled, usage: { ...usage, cacheWrite1h: 4 } },
      { ...settled, usage: { ...usage, cacheWrite1h: 4 }, price },
    ]
    assert.deepEqual(decodeEvents(encodeEvents(events)), events)
  })

  test('search fees and counts – survive encoding next to other optional cells', () => {
    const price = { ...nanoPrice, perSearch: 70_000_000n }
    const events: LedgerEvent[] = [
      { ...held, price },
      { ...held, price: { ...price, perRequest: 3n, cacheWrite1h: 8n }, claim: { key: 'k', body: 'b' } },
      { ...settled, usage: { ...usage, searches: 3 } },
      { ...settled, usage: { ...usage, searches: 3, cacheWrite1h: 4 }, price },
    ]
    assert.deepEqual(decodeEvents(encodeEvents(events)), events)
  })

  test('prices, usage and terms by unit – survive encoding next to other optional cells', () => {
    const price: Price = {
      ...nanoPrice,
      modality: { inputAudio: 9n, outputAudio: 0n },
      above: [{ ...nanoPrice, above: 200_000, input: 2n, modality: { inputAudio: 18n } }].map(
        ({ version: _version, perRequest: _perRequest, ...rates }) => rates,
      ),
      serviceTiers: { flex: 500_000 },
      perToolCall: { web_search: 70_000_000n },
    }
    const terms = { tier: 'flex', modality: ['outputAudio' as const] }
    const units = { ...usage, modality: { inputAudio: 4 }, toolCalls: { web_search: 2 }, tier: 'flex' }
    const events: LedgerEvent[] = [
      { ...held, price: { ...price, perSearch: null } },
      { ...held, price: { ...price, perSearch: 5n, perRequest: 3n }, terms },
      { ...held, terms, claim: { key: 'k', body: 'b' }, countsForModel: true },
      { ...held, terms, countsForModel: true },
      { ...settled, usage: units },
      { ...settled, usage: { ...units, searches: 3, cacheWrite1h: 4 }, price: { ...price, perSearch: 5n } },
    ]
    assert.deepEqual(decodeEvents(encodeEvents(events)), events)
  })

  test('late bills – survive encoding with and without a charge, and without one as before', () => {
    const late = { kind: 'late', id: 'req', at: 1, account: 'acc', overrun: 5n } as const
    const charge = { amount: 7n, key: 'key', dayEnd: 2, monthEnd: 3 }
    const events: LedgerEvent[] = [
      { ...late, charge: undefined },
      { ...late, charge },
    ]
    assert.deepEqual(decodeEvents(encodeEvents(events)), events)
    assert.equal(encodeEvents([late]), '[["l","req",1,"acc","5"]]')
  })

  test('no one-hour cache writes – rows keep their original length', () => {
    const rows = JSON.parse(
      encodeEvents([held, { ...held, price: { ...nanoPrice, cacheWrite1h: null } }, settled]),
    ) as unknown[][]
    assert.deepEqual(
      rows.map((cells) => cells.length),
      [19, 19, 11],
    )
  })
})
