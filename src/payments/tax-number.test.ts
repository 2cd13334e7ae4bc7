import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../errors.ts'
import { cleanTaxNumber, isOldTaxNumber } from './tax-number.ts'

const rejects = (text: string): void =>
  assert.throws(
    () => cleanTaxNumber(text),
    (error) => error instanceof ApiError && error.detail.param === 'tax_number',
    text,
  )

describe('tax number', () => {
  test('unified code – is accepted with its check digit, in any spelling', () => {
    assert.equal(cleanTaxNumber('91350100M000100Y43'), '91350100M000100Y43')
    assert.equal(cleanTaxNumber(' 9135 0100 m000100y43 '), '91350100M000100Y43')
  })

  test('unified code – each other check digit and each changed symbol is rejected', () => {
    const code = '91350100M000100Y43'
    const symbols = '0123456789ABCDEFGHJKLMNPQRTUWXY'
    for (let at = 0; at < code.length; at += 1)
      for (const symbol of symbols)
        if (symbol !== code[at]) rejects(code.slice(0, at) + symbol + code.slice(at + 1))
  })

  test('number of 15 digits – is accepted, and known as an old one', () => {
    assert.equal(cleanTaxNumber('350100100000001'), '350100100000001')
    assert.ok(isOldTaxNumber('350100100000001'))
    assert.ok(!isOldTaxNumber('91350100M000100Y43'))
  })

  test('other texts – are no tax numbers', () => {
    for (const text of ['', '1', '91350100M000100Y4', '91350100I000100Y43', '91350100M000100Y433', '企业'])
      rejects(text)
  })
})
