import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../errors.ts'
import { formatMinor, isCurrency, minorDigitsOf, parseMinor } from './currency.ts'

/** The largest whole part has ten digits. */
const largestMinor = (currency: string) => 10n ** BigInt(10 + minorDigitsOf(currency)) - 1n

describe('currencies', () => {
  test('minor units – have as many decimals as payment providers count', () => {
    const codes = ['CNY', 'USD', 'JPY', 'KRW', 'XOF', 'MGA', 'KWD', 'TND', 'ISK', 'UGX', 'HUF', 'TWD']
    assert.deepEqual(codes.map(minorDigitsOf), [2, 2, 0, 0, 0, 0, 3, 3, 2, 2, 2, 2])
  })

  test('amounts – survive formatting and parsing in every currency', () => {
    const amounts = fc
      .constantFrom(...Intl.supportedValuesOf('currency'))
      .chain((currency) =>
        fc.tuple(fc.constant(currency), fc.bigInt({ min: 0n, max: largestMinor(currency) })),
      )
    fc.assert(
      fc.property(amounts, ([currency, minor]) => {
        assert.equal(parseMinor(formatMinor(minor, currency), currency), minor)
      }),
    )
  })

  test('amounts that floats miss – are exact', () => {
    const texts = ['0.29', '1.10', '4.35', '99999999.99']
    assert.deepEqual(
      texts.map((text) => parseMinor(text, 'CNY')),
      [29n, 110n, 435n, 9_999_999_999n],
    )
    assert.deepEqual(
      texts.map((text) => formatMinor(parseMinor(text, 'CNY'), 'CNY')),
      texts,
    )
  })

  test('short and large amounts – are read in the unit of the currency', () => {
    assert.equal(parseMinor('1.5', 'USD'), 150n)
    assert.equal(parseMinor('100', 'USD'), 10_000n)
    assert.equal(parseMinor('1.234', 'KWD'), 1234n)
    assert.equal(parseMinor('500', 'JPY'), 500n)
    assert.equal(formatMinor(-29n, 'CNY'), '-0.29')
    assert.equal(formatMinor(500n, 'JPY'), '500')
    assert.equal(formatMinor(5n, 'KWD'), '0.005')
  })

  test('text that is not exact – is rejected, naming the parameter', () => {
    const texts = [
      '',
      '.5',
      '1.',
      '01',
      '00',
      '-1',
      '+1',
      '1e2',
      ' 1',
      '1 ',
      '1,50',
      '0x1',
      '１',
      '1.234',
      '12345678901',
    ]
    for (const text of texts) {
      assert.throws(
        () => parseMinor(text, 'CNY', 'amount'),
        (error) => error instanceof ApiError && error.status === 400 && error.detail.param === 'amount',
        text,
      )
    }
    assert.throws(() => parseMinor('1.0', 'JPY'), /must be an amount in JPY without decimals, such as "1000"/)
    assert.throws(() => parseMinor('1\n', 'CNY'), /with at most 2 decimals, such as "10\.00"/)
  })

  test('codes – are those of ISO 4217, in capitals', () => {
    assert.deepEqual(['CNY', 'USD', 'JPY', 'usd', 'yuan', 'XYZ', ''].map(isCurrency), [
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ])
  })
})
