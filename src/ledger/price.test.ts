import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { nanoPrice, usageOf } from './ledger.fixture.ts'
import { affordableOutputTokens, boundOf, maxCostOf, type HoldTerms } from './cost-bound.ts'
import { costOf, type Price, type TokenRates, type Usage } from './price.ts'
import { createUsage, noUsage } from '../providers/usage.ts'

const nanos = fc.bigInt({ min: 0n, max: 10n ** 14n })
const optionalPrice = fc.option(nanos)
const textRates = {
  input: nanos,
  output: nanos,
  cachedInput: optionalPrice,
  cacheWrite: optionalPrice,
  cacheWrite1h: optionalPrice,
  reasoning: optionalPrice,
}
const prices = fc.record<Price>({
  version: fc.constant(1),
  ...textRates,
  perRequest: fc.constant(0n),
  perSearch: fc.option(fc.bigInt({ min: 0n, max: 10n ** 12n })),
})
const factors = fc.integer({ min: 0, max: 5_000_000 })
const tokens = fc.nat(2_000_000)
const usages = fc
  .record({
    input: tokens,
    output: tokens,
    a: fc.double({ min: 0, max: 1, noNaN: true }),
    b: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ input, output, a, b }): Usage => {
    const cachedInput = Math.floor(input * a)
    const cacheWrite = Math.floor((input - cachedInput) * b)
    const cacheWrite1h = Math.floor(cacheWrite * a)
    const searches = Math.floor(a * 20)
    const reasoning = Math.floor(output * b)
    return { input, cachedInput, cacheWrite, cacheWrite1h, output, reasoning, searches }
  })

function sum(left: Usage, right: Usage): Usage {
  return {
    input: left.input + right.input,
    cachedInput: left.cachedInput + right.cachedInput,
    cacheWrite: left.cacheWrite + right.cacheWrite,
    cacheWrite1h: (left.cacheWrite1h ?? 0) + (right.cacheWrite1h ?? 0),
    output: left.output + right.output,
    reasoning: left.reasoning + right.reasoning,
    searches: (left.searches ?? 0) + (right.searches ?? 0),
  }
}

describe('costOf', () => {
  test('a split request – costs at most 1 nano more than the whole', () => {
    fc.assert(
      fc.property(prices, usages, usages, factors, (price, a, b, factor) => {
        const extra = costOf(price, a, factor) + costOf(price, b, factor) - costOf(price, sum(a, b), factor)
        assert.ok(extra === 0n || extra === 1n, `${extra}`)
      }),
      { numRuns: 2000 },
    )
  })

  test('rounding – adds less than a nano, and a cost is never negative', () => {
    fc.assert(
      fc.property(prices, usages, factors, (price, usage, factor) => {
        const cost = costOf(price, usage, factor)
        const fresh = BigInt(usage.input - usage.cachedInput - usage.cacheWrite)
        const exact =
          (fresh * price.input +
            BigInt(usage.cachedInput) * (price.cachedInput ?? price.input) +
            BigInt(usage.cacheWrite - (usage.cacheWrite1h ?? 0)) * (price.cacheWrite ?? price.input) +
            BigInt(usage.cacheWrite1h ?? 0) * (price.cacheWrite1h ?? price.cacheWrite ?? price.input) +
            BigInt(usage.output - usage.reasoning) * price.output +
            BigInt(usage.reasoning) * (price.reasoning ?? price.output) +
            BigInt(usage.searches ?? 0) * (price.perSearch ?? 0n) * 1_000_000n) *
          BigInt(factor)
        const scale = 10n ** 12n
        assert.ok(cost * scale >= exact && cost * scale - exact < scale && cost >= 0n)
      }),
      { numRuns: 1000 },
    )
  })

  test('1,000 in, 500 out at ¥0.002 and ¥0.008 per 1K – cost ¥0.006 to the nano', () => {
    const price = { ...nanoPrice, input: 2_000_000_000n, output: 8_000_000_000n }
    assert.equal(costOf(price, usageOf(1000, 500), 1_000_000), 6_000_000n)
  })

  test('the factor – multiplies the exact sum and is rounded with it, once', () => {
    const price = { ...nanoPrice, input: 1_500_000n, output: 1n }
    // 1.5 nanos + 0.000001 nanos, times 1.5, is 2.2500015.
    assert.equal(costOf(price, usageOf(1, 1), 1_500_000), 3n)
    assert.equal(costOf(price, usageOf(1, 1), 0), 0n)
    assert.equal(costOf(price, usageOf(1_000_000, 0), 333_333), 499_999n + 1n)
  })

  test('component prices – apply separately, and unset ones fall back to their parent', () => {
    const usage: Usage = { input: 100, cachedInput: 60, cacheWrite: 10, output: 50, reasoning: 20 }
    assert.equal(costOf(nanoPrice, usage, 1_000_000), 150n)
    const price: Price = {
      ...nanoPrice,
      cachedInput: 100_000n,
      cacheWrite: 2_000_000n,
      reasoning: 3_000_000n,
      perRequest: 7n,
    }
    assert.equal(costOf(price, usage, 1_000_000), 30n + 6n + 20n + 30n + 60n + 7n)
    assert.equal(costOf({ ...price, cachedInput: 0n }, usage, 1_000_000), 30n + 0n + 20n + 30n + 60n + 7n)
    assert.equal(costOf(nanoPrice, noUsage, 1_000_000), 0n)
  })

  test('search fees – are added to the request’s fee; without a price they are free', () => {
    const usage: Usage = { ...noUsage, input: 10, searches: 3 }
    const price = { ...nanoPrice, perRequest: 7n, perSearch: 1000n }
    assert.equal(costOf(price, usage, 1_000_000), 10n + 7n + 3000n)
    assert.equal(costOf(price, usage, 500_000), 1509n)
    assert.equal(costOf(nanoPrice, usage, 1_000_000), 10n)
  })

  test('a mistyped price – never costs more than ten million', () => {
    const dear = 10n ** 18n
    const price = { ...nanoPrice, input: dear, output: dear, perSearch: dear }
    const usage: Usage = { ...noUsage, input: 10 ** 8, output: 10 ** 8, searches: 1000 }
    assert.equal(costOf(price, usage, 10 ** 9), 10n ** 16n)
  })

  test('parts larger than their total – never make a cost negative', () => {
    const usage: Usage = { input: 10, cachedInput: 100, cacheWrite: 50, output: 5, reasoning: 9 }
    assert.equal(
      costOf({ ...nanoPrice, cachedInput: 0n, cacheWrite: 0n, reasoning: 0n }, usage, 1_000_000),
      0n,
    )
  })
})

describe('maxCostOf and affordableOutputTokens', () => {
  test('maximum cost – covers any kinds of that many tokens', () => {
    fc.assert(
      fc.property(prices, usages, factors, (price, usage, factor) => {
        const tokensOnly = { ...usage, searches: 0 }
        assert.ok(
          costOf(price, tokensOnly, factor) <=
            maxCostOf(boundOf(price, usage.input), usage.input, usage.output, factor),
        )
      }),
      { numRuns: 2000 },
    )
  })

  test('affordable output tokens – fit into the money, and one more does not', () => {
    fc.assert(
      fc.property(
        prices,
        tokens,
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        factors,
        (price, input, money, factor) => {
          const options = { factorPpm: factor, maxTokens: 1_000_000 }
          const affordable = affordableOutputTokens(boundOf(price, input), input, money, options)
          if (affordable < 0) return assert.ok(maxCostOf(boundOf(price, input), input, 0, factor) > money)
          assert.ok(maxCostOf(boundOf(price, input), input, affordable, factor) <= money)
          // The input alone is rounded up too, so a token that just fits may be left out.
          if (affordable < options.maxTokens)
            assert.ok(maxCostOf(boundOf(price, input), input, affordable + 1, factor) + 1n > money)
        },
      ),
      { numRuns: 2000 },
    )
  })
})

const rates = fc.record<TokenRates>({
  ...textRates,
  modality: fc.record({ inputAudio: nanos, outputImage: nanos }),
})
const unitPrices = fc.record({
  price: prices,
  modality: fc.record({ inputAudio: nanos, outputImage: nanos }),
  above: fc.uniqueArray(fc.record({ above: fc.nat(100_000), rates }), {
    selector: ({ above }) => above,
    maxLength: 3,
  }),
  flex: fc.integer({ min: 0, max: 1_000_000 }),
  priority: fc.integer({ min: 1_000_000, max: 9_000_000 }),
})

describe('prices by unit', () => {
  test('what is held – covers any usage that the request can have, at either tier', () => {
    const shares = fc.double({ min: 0, max: 1, noNaN: true })
    const tier = fc.constantFrom('flex', 'priority', undefined)
    const served = fc.record({
      tokens: usages,
      audio: shares,
      image: shares,
      asked: tier,
      isDefault: fc.boolean(),
    })
    fc.assert(
      fc.property(unitPrices, served, factors, ({ price, above, ...units }, usage, factor) => {
        const full: Price = {
          ...price,
          perSearch: null,
          modality: units.modality,
          above: above
            .map((entry) => ({ ...entry.rates, above: entry.above }))
            .toSorted((a, b) => a.above - b.above),
          serviceTiers: { flex: units.flex, priority: units.priority },
        }
        const { tokens: counts, audio, image, asked, isDefault } = usage
        const { searches: _searches, ...tokensOnly } = counts
        const billed = createUsage({
          ...tokensOnly,
          modality: {
            inputAudio: Math.floor(counts.input * audio),
            outputImage: Math.floor(counts.output * image),
          },
          ...(isDefault || asked === undefined ? {} : { tier: asked }),
        })
        const terms: HoldTerms = {
          modality: ['inputAudio', 'outputImage'],
          ...(asked === undefined ? {} : { tier: asked }),
        }
        // The estimate is at least a quarter of the bytes, of which each is at most one token.
        const estimate = Math.ceil(billed.input / 4)
        const limit = boundOf(full, estimate, terms)
        const cost = costOf(full, billed, factor)
        assert.ok(cost <= maxCostOf(limit, billed.input, billed.output, factor), `${cost}`)
      }),
      { numRuns: 3000 },
    )
  })

  test('a price of 0 – is a price; an absent one is that of the total', () => {
    const price: Price = { ...nanoPrice, modality: { inputAudio: 0n } }
    const usage = createUsage({ input: 10, output: 4, modality: { inputAudio: 6, outputAudio: 3 } })
    assert.equal(costOf(price, usage, 1_000_000), 4n + 4n)
  })

  test('service tier – multiplies the tokens and no fee, rounded once', () => {
    const price: Price = { ...nanoPrice, perRequest: 10n, serviceTiers: { flex: 333_333 } }
    assert.equal(costOf(price, { ...usageOf(2, 1), tier: 'flex' }, 1_000_000), 11n)
    assert.equal(costOf(price, { ...usageOf(2, 1), tier: 'scale' }, 1_000_000), 13n)
    assert.equal(costOf(price, { ...usageOf(2, 1), tier: 'flex' }, 2_000_000), 22n)
  })

  test('calls of tools – cost their price each', () => {
    const price: Price = { ...nanoPrice, perToolCall: { file_search: 100n, code_interpreter: 0n } }
    const usage = createUsage({ toolCalls: { file_search: 3, code_interpreter: 5, constructor: 2 } })
    assert.equal(costOf(price, usage, 1_000_000), 300n)
  })
})
