import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openAnyStore } from '../db/store.fixture.ts'
import { ApiError } from '../errors.ts'
import { generateDataKey, createSealer } from '../lib/encryption.ts'
import { createUpstream, updateUpstream, upstreamById } from './upstreams.ts'

describe('updateUpstream', () => {
  test('concurrent changes of server and credential – leave no credential for the new server', async (t) => {
    const { db } = await openAnyStore(t)
    const sealer = createSealer(generateDataKey())
    const context = { by: 'admin', sealer, checkUrl: () => null }
    const input = { name: 'one', provider: 'openai', baseUrl: 'https://up.example/v1', credential: 'sk-one' }
    const { id } = (await createUpstream(db, input, context)).value
    const results = await Promise.allSettled(
      [{ baseUrl: 'https://other.example/v1' }, { credential: 'sk-for-the-first-server' }, { weight: 7 }].map(
        (patch) => updateUpstream(db, id, patch, context),
      ),
    )
    const failed = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    )
    // The credential was for the first server: it is rejected, or deleted if it came first.
    assert.ok(failed.every((error) => error instanceof ApiError && error.status === 409))
    assert.ok(failed.length <= 1)
    const upstream = await upstreamById(db, id, sealer)
    assert.deepEqual(
      [upstream?.baseUrl, upstream?.lastFour, upstream?.weight],
      ['https://other.example/v1', null, 7],
    )
  })
})
