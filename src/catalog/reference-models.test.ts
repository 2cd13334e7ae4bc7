import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { createModel, listModels } from './models.ts'
import { referenceModels } from './reference-models.ts'

describe('reference models', () => {
  test('the reference models – are ten, all priced, with the prices of the specification', async (t) => {
    const db = await openTemporaryDb(t)
    for (const { priceSource: _source, ...input } of referenceModels) await createModel(db, input, 'seed')
    const models = await listModels(db)
    assert.equal(models.length, 10)
    const price = (id: string) => models.find((model) => model.id === id)?.price
    assert.deepEqual(
      [price('family-a-small')?.input, price('family-a-small-16k')?.output],
      [2_000_000_000n, 2_000_000_000n],
    )
    assert.deepEqual(
      [price('family-a-large')?.input, price('family-a-large-32k')?.output],
      [30_000_000_000n, 60_000_000_000n],
    )
    assert.deepEqual(
      [price('family-b-mid')?.input, price('family-b-mid')?.output],
      [15_000_000_000n, 75_000_000_000n],
    )
  })
})
