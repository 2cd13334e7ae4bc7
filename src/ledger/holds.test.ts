import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { heldTokensToCount, sizeOfExtension, sizeOfHold, type HoldOptions } from './holds.ts'
import { nanoPrice, streamHold, usageOf, nonStreamingHold } from './ledger.fixture.ts'
import { boundOf, maxCostOf } from './cost-bound.ts'
import { costOf } from './price.ts'

const hidden: HoldOptions = { ...streamHold, mode: 'hidden' }

describe('sizeOfHold', () => {
  test('a stream with enough balance – holds input and 2,048 tokens, leaves the maximum unchanged', () => {
    const size = sizeOfHold({ ...streamHold, inputTokens: 100 }, 1_000_000n)
    assert.partialDeepStrictEqual(size, { amount: 2148n, outputTokens: 2048, maximumTokens: null })
  })

  test('a stream with little balance – holds a sixteenth and lowers the maximum', () => {
    assert.partialDeepStrictEqual(sizeOfHold(streamHold, 16_000n), {
      amount: 1000n,
      outputTokens: 1000,
      maximumTokens: 16_000,
    })
    assert.partialDeepStrictEqual(sizeOfHold(streamHold, 500n), {
      amount: 64n,
      outputTokens: 64,
      maximumTokens: 500,
    })
    assert.partialDeepStrictEqual(sizeOfHold(streamHold, 40n), {
      amount: 40n,
      outputTokens: 40,
      maximumTokens: 40,
    })
  })

  test('fewer than 16 affordable output tokens – rejected unless the caller asks for fewer', () => {
    for (const mode of ['stream', 'non-streaming'] as const) {
      assert.equal(sizeOfHold({ ...streamHold, mode }, 15n), null)
      assert.equal(sizeOfHold({ ...streamHold, mode }, 16n)?.outputTokens, 16)
      assert.equal(sizeOfHold({ ...streamHold, mode, requestedTokens: 5 }, 5n)?.outputTokens, 5)
      assert.equal(sizeOfHold({ ...streamHold, mode, requestedTokens: 5 }, 4n), null)
      assert.equal(sizeOfHold({ ...streamHold, mode, inputTokens: 100 }, 115n), null)
      assert.equal(sizeOfHold({ ...streamHold, mode, inputTokens: 100 }, 99n), null)
    }
  })

  test('a non-streaming request – is held at the caller’s maximum, lowered to what is affordable', () => {
    const requested = { ...nonStreamingHold, requestedTokens: 4000 }
    assert.partialDeepStrictEqual(sizeOfHold(requested, 10_000n), {
      amount: 4000n,
      outputTokens: 4000,
      maximumTokens: null,
    })
    assert.partialDeepStrictEqual(sizeOfHold(requested, 3000n), {
      amount: 3000n,
      outputTokens: 3000,
      maximumTokens: 3000,
    })
  })

  test('a non-streaming request without maximum – is held at 1,024 tokens or a sixteenth', () => {
    assert.partialDeepStrictEqual(sizeOfHold(nonStreamingHold, 10_000n), {
      amount: 1024n,
      outputTokens: 1024,
      maximumTokens: 1024,
    })
    assert.equal(sizeOfHold(nonStreamingHold, 160_000n)?.maximumTokens, 10_000)
    assert.equal(sizeOfHold(nonStreamingHold, 800n)?.maximumTokens, 800)
    assert.equal(sizeOfHold({ ...nonStreamingHold, modelTokens: 512 }, 10_000n)?.maximumTokens, null)
  })

  test('a maximum above the model’s – is passed on, and held at the model’s', () => {
    const size = sizeOfHold({ ...nonStreamingHold, modelTokens: 1000, requestedTokens: 5000 }, 100_000n)
    assert.partialDeepStrictEqual(size, { amount: 1000n, outputTokens: 1000, maximumTokens: null })
  })

  test('hidden reasoning – is held at 8,192 tokens, streaming or not; less is rejected', () => {
    assert.equal(sizeOfHold(hidden, 100_000n)?.outputTokens, 8192)
    assert.equal(sizeOfHold(hidden, 1_600_000n)?.outputTokens, 100_000)
    assert.equal(sizeOfHold(hidden, 8191n), null)
    assert.equal(sizeOfHold({ ...hidden, requestedTokens: 100 }, 100n)?.outputTokens, 100)
  })

  test('n results – multiply the hold and divide the maximum', () => {
    assert.partialDeepStrictEqual(
      sizeOfHold({ ...nonStreamingHold, results: 4, requestedTokens: 500 }, 10_000n),
      {
        amount: 2000n,
        outputTokens: 2000,
        maximumTokens: null,
      },
    )
    assert.partialDeepStrictEqual(
      sizeOfHold({ ...nonStreamingHold, results: 4, requestedTokens: 500 }, 1000n),
      {
        amount: 1000n,
        outputTokens: 1000,
        maximumTokens: 250,
      },
    )
    assert.equal(sizeOfHold({ ...nonStreamingHold, results: 4 }, 63n), null)
    assert.equal(sizeOfHold({ ...streamHold, results: 4 }, 2000n)?.maximumTokens, 500)
  })

  test('a small maximum on a route not seen to obey it – holds what none would', () => {
    const given = { requestedTokens: 10, maximum: 'unseen' } as const
    for (const [mode, outputTokens] of [
      ['stream', 2048],
      ['non-streaming', 1024],
      ['hidden', 8192],
    ] as const) {
      const size = sizeOfHold({ ...streamHold, ...given, mode }, 1_000_000n)
      assert.deepEqual(size, {
        amount: BigInt(outputTokens),
        outputTokens,
        maximumTokens: null,
        isAll: false,
      })
    }
    assert.partialDeepStrictEqual(sizeOfHold({ ...streamHold, ...given }, 16_000n), { outputTokens: 1000 })
    const large = { ...nonStreamingHold, ...given, requestedTokens: 4000 }
    assert.partialDeepStrictEqual(sizeOfHold(large, 1_000_000n), { outputTokens: 4000, isAll: false })
    assert.partialDeepStrictEqual(sizeOfHold(large, 2000n), { maximumTokens: 2000, isAll: false })
    const poor = { amount: 700n, outputTokens: 700, maximumTokens: null, isAll: true }
    assert.deepEqual(sizeOfHold({ ...nonStreamingHold, ...given }, 700n), poor)
    assert.equal(sizeOfHold({ ...nonStreamingHold, ...given }, 9n), null)
    const small = { ...nonStreamingHold, ...given, modelTokens: 512 }
    assert.partialDeepStrictEqual(sizeOfHold(small, 700n), { outputTokens: 512, isAll: false })
  })

  test('a route that exceeded a maximum – holds the model’s maximum, streaming or not', () => {
    for (const mode of ['stream', 'non-streaming', 'hidden'] as const) {
      const given = { ...streamHold, maximum: 'exceeded', modelTokens: 8000, mode } as const
      const whole = { amount: 8000n, outputTokens: 8000, maximumTokens: null, isAll: false }
      assert.deepEqual(sizeOfHold({ ...given, requestedTokens: 10 }, 1_000_000n), whole)
      assert.deepEqual(sizeOfHold(given, 1_000_000n), whole)
      const poor = { amount: 500n, outputTokens: 500, isAll: true }
      assert.deepEqual(sizeOfHold({ ...given, requestedTokens: 10 }, 500n), { ...poor, maximumTokens: null })
    }
  })

  test('the rate limits – count what is held, without a maximum at most the default', () => {
    assert.equal(heldTokensToCount(nonStreamingHold, 131_072), 1024)
    assert.equal(heldTokensToCount({ ...nonStreamingHold, mode: 'hidden', results: 2 }, 131_072), 16_384)
    assert.equal(heldTokensToCount(streamHold, 64), 64)
    assert.equal(
      heldTokensToCount({ ...nonStreamingHold, requestedTokens: 1, maximum: 'unseen' }, 1024),
      1024,
    )
    assert.equal(heldTokensToCount({ ...streamHold, maximum: 'exceeded' }, 8000), 8000)
  })

  test('a free model – is always affordable', () => {
    const free = { ...nanoPrice, input: 0n, output: 0n }
    assert.partialDeepStrictEqual(sizeOfHold({ ...streamHold, price: free, inputTokens: 9999 }, 0n), {
      amount: 0n,
      outputTokens: 2048,
      maximumTokens: null,
    })
  })

  test('5,000 affordable tokens of 65,536 – admitted with a lower maximum', () => {
    const price = { ...nanoPrice, input: 2_000_000_000n, output: 8_000_000_000n }
    const options = { ...streamHold, price, modelTokens: 65_536 }
    assert.equal(sizeOfHold(options, 5000n * 8000n)?.maximumTokens, 5000)
  })

  test('any size – fits the available money, and the maximum sent upstream is covered', () => {
    const options = fc.record<HoldOptions>({
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
      searches: fc.constant(0),
      maximum: fc.constantFrom('unseen', 'obeyed', 'exceeded'),
      results: fc.integer({ min: 1, max: 8 }),
      requestedTokens: fc.option(fc.integer({ min: 1, max: 200_000 })),
      modelTokens: fc.integer({ min: 1, max: 200_000 }),
      mode: fc.constantFrom('stream', 'non-streaming', 'hidden'),
    })
    fc.assert(
      fc.property(options, fc.bigInt({ min: 0n, max: 10n ** 12n }), (given, available) => {
        const size = sizeOfHold(given, available)
        if (!size) return
        assert.ok(size.amount <= available)
        assert.equal(
          size.amount,
          maxCostOf(
            boundOf(given.price, given.inputTokens),
            given.inputTokens,
            size.outputTokens,
            given.factorPpm,
          ),
        )
        const maxTokens = size.maximumTokens ?? Math.min(given.requestedTokens ?? Infinity, given.modelTokens)
        const all = maxCostOf(
          boundOf(given.price, given.inputTokens),
          given.inputTokens,
          maxTokens * given.results,
          given.factorPpm,
        )
        assert.ok(all <= available + 1n || given.mode !== 'stream' || size.maximumTokens === null)
        if (given.mode === 'non-streaming') assert.ok(size.outputTokens >= maxTokens * given.results)
        // An extension fits into what the hold leaves.
        const left = available - size.amount
        const more = sizeOfExtension(given, left, 100_000)
        const total = maxCostOf(
          boundOf(given.price, given.inputTokens),
          given.inputTokens,
          size.outputTokens + more,
          given.factorPpm,
        )
        assert.ok(total - size.amount <= left)
      }),
      { numRuns: 3000 },
    )
  })
})

describe('sizeOfExtension', () => {
  test('an extension – is at most 2,048 tokens, and at least 16 unless fewer remain', () => {
    assert.equal(sizeOfExtension(streamHold, 1_000_000n, 100_000), 2048)
    assert.equal(sizeOfExtension(streamHold, 1_000_000n, 10), 10)
    assert.equal(sizeOfExtension(streamHold, 1600n, 100_000), 100)
    assert.equal(sizeOfExtension(streamHold, 30n, 100_000), 30)
    assert.equal(sizeOfExtension(streamHold, 15n, 100_000), 0)
    assert.equal(sizeOfExtension(streamHold, 15n, 10), 10)
    assert.equal(sizeOfExtension(streamHold, 0n, 100_000), 0)
  })
})

/** How many of `requested` consecutive holds a balance admits. */
function admitted(options: HoldOptions, balance: bigint, requested: number): number {
  let available = balance
  for (let count = 0; count < requested; count += 1) {
    const size = sizeOfHold(options, available)
    if (!size) return count
    available -= size.amount
  }
  return requested
}

describe('admission', () => {
  test('M6: a balance of 20 times the true cost – admits at least 18 of 20 concurrent streams', () => {
    for (const input of [0, 10, 100, 1000, 10_000]) {
      for (const output of [64, 100, 300, 1000, 4000, 20_000]) {
        const price = { ...nanoPrice, input: 2_000_000_000n, output: 8_000_000_000n }
        const cost = costOf(price, usageOf(input, output), 1_000_000)
        // The input is estimated from bytes, JSON included, which is more than the provider counts.
        const options = { ...streamHold, price, inputTokens: Math.ceil(input * 1.05) }
        const count = admitted(options, 20n * cost, 20)
        assert.ok(count >= 18, `${input} in, ${output} out: ${count}`)
      }
    }
  })

  test('M6: a balance worth 20 responses – admits at least 18 of 20 without a maximum', () => {
    const price = { ...nanoPrice, input: 2_000_000_000n, output: 8_000_000_000n }
    for (const input of [0, 10, 100, 1000, 10_000, 100_000]) {
      const cost = costOf(price, usageOf(input, 1024), 1_000_000)
      const options = { ...nonStreamingHold, price, inputTokens: Math.ceil(input * 1.05) + 20 }
      const count = admitted(options, 20n * cost, 20)
      assert.ok(count >= 18, `${input} in: ${count}`)
    }
  })
})
