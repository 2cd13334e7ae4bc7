import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { appendDataKey, createSealer, generateDataKey, newestDataKeys } from '../../lib/encryption.ts'
import { createSummarySeal } from './compaction-request.ts'

describe('SummarySeal', () => {
  test('summary – is opened after a rotation of the data keys, and not after the next one', () => {
    const sealer = createSealer(generateDataKey())
    const seal = createSummarySeal(sealer, 'acc_1')
    const sealed = seal.seal('The task is done.')
    const rotate = (): void =>
      sealer.replaceKeys({
        bytes: newestDataKeys(appendDataKey(sealer.keys.bytes)),
        isNewestReadOnly: false,
      })
    rotate()
    assert.equal(seal.open(sealed), 'The task is done.')
    rotate()
    assert.equal(seal.open(sealed), null)
  })

  test('text sealed for anything else – is not opened', () => {
    const sealer = createSealer(generateDataKey())
    const seal = createSummarySeal(sealer, 'acc_1')
    for (const other of [
      sealer.seal('secret', 'acc_1'),
      createSummarySeal(sealer, 'acc_2').seal('theirs'),
      '',
    ])
      assert.equal(seal.open(other), null)
  })
})
