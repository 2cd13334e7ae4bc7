/** Forms send only what changed, and never read text that is no number as an empty field. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  changedFields,
  dateText,
  endOfDay,
  integerText,
  namesFrom,
  optionalInteger,
  previousFields,
} from './field-values.ts'

describe('changedFields', () => {
  test('changedFields – of equal bodies is empty', () => {
    const body = { name: 'a', caps: { daily: '1.000000001', monthly: null }, routes: [{ weight: 9 }] }
    assert.deepEqual(changedFields(body, structuredClone(body)), {})
  })

  test('changedFields – sends single fields of merged objects, and other objects whole', () => {
    const before = { limits: { rpm: 1, tpm: null }, prices: { input: '1', output: '2' }, models: ['a'] }
    const after = { limits: { rpm: 2, tpm: null }, prices: { input: '1', output: '3' }, models: ['a'] }
    assert.deepEqual(changedFields(before, after), {
      limits: { rpm: 2 },
      prices: { input: '1', output: '3' },
    })
  })

  test('changedFields – sends null for a removed value, and fields that only the new body has', () => {
    const before = { code: 'spring', caps: { daily: '5' } }
    const after = { code: null, caps: { daily: null }, message: 'fixed' }
    assert.deepEqual(changedFields(before, after), after)
  })
})

describe('previousFields', () => {
  test('previousFields – restore what a form changed, also what it does not show', () => {
    const stored = { name: 'a', limits: { rpm: 'unlimited', tpm: 5 }, expires_at: '2026-12-31T10:00:00Z' }
    const changes = { limits: { rpm: 60 }, expires_at: null }
    assert.deepEqual(previousFields(stored, changes), {
      limits: { rpm: 'unlimited' },
      expires_at: '2026-12-31T10:00:00Z',
    })
  })
})

describe('field values', () => {
  test('optionalInteger – is null only for an empty field', () => {
    const texts = ['', ' ', '0', '1000', '1,000', '-1', 'unlimited']
    assert.deepEqual(texts.map(optionalInteger), [null, null, 0, 1000, '1,000', '-1', 'unlimited'])
    assert.deepEqual([null, undefined, 0, 7, 'unlimited'].map(integerText), ['', '', '0', '7', ''])
  })

  test('a date field – shows the day that its value ends', () => {
    assert.equal(dateText(endOfDay('2026-12-31')), '2026-12-31')
    assert.deepEqual([dateText(null), endOfDay('')], ['', null])
  })

  test('namesFrom – reads names in lines or separated by commas', () => {
    assert.deepEqual(namesFrom('a, b\nc\n\n'), ['a', 'b', 'c'])
  })
})
