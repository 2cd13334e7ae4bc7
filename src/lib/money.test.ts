import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../errors.ts'
import { decimalOf, factorOf, factorPpmOf, nanosOf, pricePer1KOf, pricePerMillionOf } from './money.ts'

function refusedAs(param: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.status === 400 && error.detail.param === param
}

test('an amount survives the way to text and back, to the nano', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nanos) => {
      assert.equal(nanosOf(decimalOf(nanos)), nanos)
    }),
  )
})

test('a price survives the way to text and back', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), (nanos) => {
      assert.equal(pricePerMillionOf(pricePer1KOf(nanos)), nanos)
    }),
  )
})

test('a factor survives the way to text and back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000_000 }), (ppm) => {
      assert.equal(factorPpmOf(factorOf(ppm)), ppm)
    }),
  )
})

test('amounts, prices and factors are written as short as they can be', () => {
  assert.equal(nanosOf('0.002'), 2_000_000n)
  assert.equal(nanosOf('-1.50'), -1_500_000_000n)
  assert.equal(decimalOf(2_000_000n), '0.002')
  assert.equal(decimalOf(-1n), '-0.000000001')
  assert.equal(decimalOf(5_000_000_000n), '5')
  assert.equal(decimalOf(0n), '0')
  assert.equal(pricePerMillionOf('0.002'), 2_000_000_000n)
  assert.equal(pricePerMillionOf('0.000000000001'), 1n)
  assert.equal(pricePer1KOf(2_000_000_000n), '0.002')
  assert.equal(factorPpmOf('1'), 1_000_000)
  assert.equal(factorOf(850_000), '0.85')
})

test('what does not fit exactly is refused with the field named, never rounded', () => {
  const amounts = [
    '',
    '.5',
    '1.',
    '1e3',
    '+1',
    ' 1',
    '1,5',
    '0x10',
    'NaN',
    '0.0000000001',
    '1000000000.000000001',
  ]
  for (const text of amounts) assert.throws(() => nanosOf(text, 'amount'), refusedAs('amount'), text)
  for (const text of ['-1', '0.0000000000001', '1000001']) {
    assert.throws(() => pricePerMillionOf(text, 'prices.input'), refusedAs('prices.input'), text)
  }
  for (const text of ['-0.1', '1000.1', '0.0000001']) {
    assert.throws(() => factorPpmOf(text, 'price_factor'), refusedAs('price_factor'), text)
  }
})

test('zeros behind the last decimal do not make an amount too fine', () => {
  assert.equal(nanosOf('1.50000000000000000000'), 1_500_000_000n)
})
