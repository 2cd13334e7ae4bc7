import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sizeOfExtension, sizeOfHold, type Terms } from './holds.ts'
import { nanoPrice, stream, usageOf, whole } from './ledger.fixture.ts'
import { ceilingOf, costOf } from './price.ts'

const hidden: Terms = { ...stream, manner: 'hidden' }

test('a rich stream is held at its input and 2,048 output tokens, and asks the upstream for no other maximum', () => {
  const size = sizeOfHold({ ...stream, inputTokens: 100 }, 1_000_000n)
  assert.deepEqual(size, { amount: 2148n, outputTokens: 2048, maximumTokens: null })
})

test('a poor stream is held at a sixteenth of what is available, at least 64 tokens, and told what all of it pays', () => {
  assert.deepEqual(sizeOfHold(stream, 16_000n), { amount: 1000n, outputTokens: 1000, maximumTokens: 16_000 })
  assert.deepEqual(sizeOfHold(stream, 500n), { amount: 64n, outputTokens: 64, maximumTokens: 500 })
  assert.deepEqual(sizeOfHold(stream, 40n), { amount: 40n, outputTokens: 40, maximumTokens: 40 })
})

test('less than 16 payable output tokens are refused, unless the caller wants fewer', () => {
  for (const manner of ['stream', 'whole'] as const) {
    assert.equal(sizeOfHold({ ...stream, manner }, 15n), null)
    assert.equal(sizeOfHold({ ...stream, manner }, 16n)?.outputTokens, 16)
    assert.equal(sizeOfHold({ ...stream, manner, askedTokens: 5 }, 5n)?.outputTokens, 5)
    assert.equal(sizeOfHold({ ...stream, manner, askedTokens: 5 }, 4n), null)
    assert.equal(sizeOfHold({ ...stream, manner, inputTokens: 100 }, 115n), null)
    assert.equal(sizeOfHold({ ...stream, manner, inputTokens: 100 }, 99n), null)
  }
})

test('a whole answer is held at the maximum of its caller, lowered only to what can be paid', () => {
  const asked = { ...whole, askedTokens: 4000 }
  assert.deepEqual(sizeOfHold(asked, 10_000n), { amount: 4000n, outputTokens: 4000, maximumTokens: null })
  assert.deepEqual(sizeOfHold(asked, 3000n), { amount: 3000n, outputTokens: 3000, maximumTokens: 3000 })
})

test('a whole answer without a maximum is held at 1,024 tokens or a sixteenth, and the upstream is told', () => {
  assert.deepEqual(sizeOfHold(whole, 10_000n), { amount: 1024n, outputTokens: 1024, maximumTokens: 1024 })
  assert.equal(sizeOfHold(whole, 160_000n)?.maximumTokens, 10_000)
  assert.equal(sizeOfHold(whole, 800n)?.maximumTokens, 800)
  assert.equal(sizeOfHold({ ...whole, modelTokens: 512 }, 10_000n)?.maximumTokens, null)
})

test('a maximum above the model’s is left to the provider, and held at the model’s', () => {
  const size = sizeOfHold({ ...whole, modelTokens: 1000, askedTokens: 5000 }, 100_000n)
  assert.deepEqual(size, { amount: 1000n, outputTokens: 1000, maximumTokens: null })
})

test('a model that thinks unseen is held at 8,192 tokens, streamed or not; less is refused', () => {
  assert.equal(sizeOfHold(hidden, 100_000n)?.outputTokens, 8192)
  assert.equal(sizeOfHold(hidden, 1_600_000n)?.outputTokens, 100_000)
  assert.equal(sizeOfHold(hidden, 8191n), null)
  assert.equal(sizeOfHold({ ...hidden, askedTokens: 100 }, 100n)?.outputTokens, 100)
})

test('n results count n times: what is held, and the maximum of each', () => {
  assert.deepEqual(sizeOfHold({ ...whole, results: 4, askedTokens: 500 }, 10_000n), {
    amount: 2000n,
    outputTokens: 2000,
    maximumTokens: null,
  })
  assert.deepEqual(sizeOfHold({ ...whole, results: 4, askedTokens: 500 }, 1000n), {
    amount: 1000n,
    outputTokens: 1000,
    maximumTokens: 250,
  })
  assert.equal(sizeOfHold({ ...whole, results: 4 }, 63n), null)
  assert.equal(sizeOfHold({ ...stream, results: 4 }, 2000n)?.maximumTokens, 500)
})

test('a free model is never short of money', () => {
  const free = { ...nanoPrice, input: 0n, output: 0n }
  assert.deepEqual(sizeOfHold({ ...stream, price: free, inputTokens: 9999 }, 0n), {
    amount: 0n,
    outputTokens: 2048,
    maximumTokens: null,
  })
})

test('5,000 affordable output tokens of a 65,536-token model are admitted with the upstream’s maximum lowered', () => {
  const price = { ...nanoPrice, input: 2_000_000_000n, output: 8_000_000_000n }
  const terms = { ...stream, price, modelTokens: 65_536 }
  assert.equal(sizeOfHold(terms, 5000n * 8000n)?.maximumTokens, 5000)
})

test('no size is more than what is available, and what is sent upstream is paid or will be', () => {
  const terms = fc.record<Terms>({
    price: fc.record({
      version: fc.constant(1),
      input: fc.bigInt({ min: 0n, max: 10n ** 10n }),
      output: fc.bigInt({ min: 0n, max: 10n ** 10n }),
      cachedInput: fc.constant(null),
      cacheWrite: fc.option(fc.bigInt({ min: 0n, max: 10n ** 10n })),
      reasoning: fc.option(fc.bigInt({ min: 0n, max: 10n ** 10n })),
      perRequest: fc.bigInt({ min: 0n, max: 10n ** 6n }),
    }),
    factorPpm: fc.integer({ min: 0, max: 3_000_000 }),
    inputTokens: fc.nat(100_000),
    results: fc.integer({ min: 1, max: 8 }),
    askedTokens: fc.option(fc.integer({ min: 1, max: 200_000 })),
    modelTokens: fc.integer({ min: 1, max: 200_000 }),
    manner: fc.constantFrom('stream', 'whole', 'hidden'),
  })
  fc.assert(
    fc.property(terms, fc.bigInt({ min: 0n, max: 10n ** 12n }), (given, available) => {
      const size = sizeOfHold(given, available)
      if (!size) return
      assert.ok(size.amount <= available)
      assert.equal(size.amount, ceilingOf(given.price, given.inputTokens, size.outputTokens, given.factorPpm))
      const most = size.maximumTokens ?? Math.min(given.askedTokens ?? Infinity, given.modelTokens)
      const all = ceilingOf(given.price, given.inputTokens, most * given.results, given.factorPpm)
      assert.ok(all <= available + 1n || given.manner !== 'stream' || size.maximumTokens === null)
      if (given.manner === 'whole') assert.ok(size.outputTokens >= most * given.results)
      // An extension fits into what the hold leaves.
      const left = available - size.amount
      const more = sizeOfExtension(given, left, 100_000)
      const total = ceilingOf(given.price, given.inputTokens, size.outputTokens + more, given.factorPpm)
      assert.ok(total - size.amount <= left)
    }),
    { numRuns: 3000 },
  )
})

test('an extension is at most 2,048 tokens or what remains, and nothing below 16 unless no more is wanted', () => {
  assert.equal(sizeOfExtension(stream, 1_000_000n, 100_000), 2048)
  assert.equal(sizeOfExtension(stream, 1_000_000n, 10), 10)
  assert.equal(sizeOfExtension(stream, 1600n, 100_000), 100)
  assert.equal(sizeOfExtension(stream, 30n, 100_000), 30)
  assert.equal(sizeOfExtension(stream, 15n, 100_000), 0)
  assert.equal(sizeOfExtension(stream, 15n, 10), 10)
  assert.equal(sizeOfExtension(stream, 0n, 100_000), 0)
})

/** Holds taken one after the other from a balance; how many were granted. */
function admitted(terms: Terms, balance: bigint, asked: number): number {
  let available = balance
  for (let count = 0; count < asked; count += 1) {
    const size = sizeOfHold(terms, available)
    if (!size) return count
    available -= size.amount
  }
  return asked
}

test('M6: a balance of 20 times the true cost admits at least 18 of 20 streams at once', () => {
  for (const input of [0, 10, 100, 1000, 10_000]) {
    for (const output of [64, 100, 300, 1000, 4000, 20_000]) {
      const price = { ...nanoPrice, input: 2_000_000_000n, output: 8_000_000_000n }
      const cost = costOf(price, usageOf(input, output), 1_000_000)
      // The estimate of the input is by bytes, with the JSON around it: more than the provider counts.
      const terms = { ...stream, price, inputTokens: Math.ceil(input * 1.05) }
      const count = admitted(terms, 20n * cost, 20)
      assert.ok(count >= 18, `${input} in, ${output} out: ${count}`)
    }
  }
})

test('M6: a balance worth 20 answers of 1,024 tokens admits at least 18 of 20 whole requests without a maximum', () => {
  const price = { ...nanoPrice, input: 2_000_000_000n, output: 8_000_000_000n }
  for (const input of [0, 10, 100, 1000, 10_000, 100_000]) {
    const cost = costOf(price, usageOf(input, 1024), 1_000_000)
    const terms = { ...whole, price, inputTokens: Math.ceil(input * 1.05) + 20 }
    const count = admitted(terms, 20n * cost, 20)
    assert.ok(count >= 18, `${input} in: ${count}`)
  }
})
