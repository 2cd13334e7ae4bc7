import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parsePrice } from '../lib/money.ts'
import { providerNames } from '../providers/registry.ts'
import { listedProviders, priceListOf } from './price-lists.ts'
import { toPrice } from './price-input.ts'

describe('price lists', () => {
  test('every listed provider – exists and has models with valid prices', async () => {
    for (const provider of listedProviders) {
      assert.ok(providerNames.includes(provider), provider)
      const models = (await priceListOf(provider, 7_200_000, '2026-11-21')) ?? assert.fail(provider)
      assert.ok(models.length > 0, provider)
      for (const { id, prices } of models) assert.ok(toPrice(prices).input >= 0n, id)
    }
    for (const name of ['vllm', '__proto__', 'constructor'])
      assert.equal(await priceListOf(name, 1_000_000, '2026-11-21'), null)
  })

  test('priceListOf – converts dollars per million tokens by the rate', async () => {
    const listed = (await priceListOf('openai', 1_000_000, '2026-11-21'))?.find(
      ({ id }) => id === 'gpt-4o-mini',
    )
    const tenfold = (await priceListOf('openai', 10_000_000, '2026-11-21'))?.find(
      ({ id }) => id === 'gpt-4o-mini',
    )
    assert.ok(listed && tenfold && 'input' in listed.prices && 'input' in tenfold.prices)
    assert.deepEqual([listed.prices.input, listed.prices.output], ['0.00015', '0.0006'])
    assert.equal(parsePrice(tenfold.prices.input ?? ''), 10n * parsePrice(listed.prices.input ?? ''))
  })

  test('prices above a length of the input – are complete, and media and searches have theirs', async () => {
    const listed = async (provider: string, model: string) =>
      (await priceListOf(provider, 1_000_000, '2026-11-21'))?.find(({ id }) => id === model)?.prices ??
      assert.fail(model)
    const long = toPrice(await listed('openai', 'gpt-5.4'))
    assert.deepEqual(
      long.above?.map(({ above, input, output, cachedInput }) => [above, input, output, cachedInput]),
      [[271_999, 5_000_000_000n, 22_500_000_000n, 500_000_000n]],
    )
    const claude = toPrice(await listed('anthropic', 'claude-sonnet-4-5'))
    assert.deepEqual(
      [claude.perSearch, claude.cacheWrite1h, claude.above?.length],
      [10_000_000n, 6_000_000_000n, 1],
    )
  })

  test('dated and hourly prices – apply as of the date, at their highest', async () => {
    const at = async (date: string) =>
      (await priceListOf('mistral', 1_000_000, date))?.find(({ id }) => id === 'mistral-medium-latest')
    const inputOf = async (date: string) => {
      const prices = (await at(date))?.prices
      return prices && 'input' in prices ? prices.input : null
    }
    assert.deepEqual([await inputOf('2026-01-01'), await inputOf('2026-11-21')], ['0.0004', '0.0015'])
    const byHour = (await priceListOf('deepseek', 1_000_000, '2026-11-21'))?.find(
      ({ id }) => id === 'deepseek-chat',
    )
    assert.ok(byHour && 'input' in byHour.prices)
    assert.deepEqual([byHour.prices.input, byHour.remarks], ['0.00027', ['changes_by_the_hour']])
  })
})
