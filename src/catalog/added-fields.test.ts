import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../errors.ts'
import { createSealer, generateDataKey } from '../lib/encryption.ts'
import { addedColumns, addedFields, type AddedFieldsPatch } from './added-fields.ts'

const sealer = createSealer(generateDataKey())
const columnsOf = (patch: AddedFieldsPatch) => addedColumns(patch, 'ups_1', sealer)
const isParam = (param: string) => (error: unknown) =>
  error instanceof ApiError && error.detail.param === param

describe('added fields', () => {
  test('columns – headers are sealed, null and empty objects remove, absent fields stay', () => {
    const { headers, body } = columnsOf({
      headers: { 'X-Org': 'canary' },
      body: { provider: { sort: 'price' } },
    })
    assert.doesNotMatch(String(headers), /canary|X-Org/)
    const row = { id: 'ups_1', headers: headers ?? null, body: body ?? null }
    assert.deepEqual(addedFields(row, sealer), {
      headers: [['X-Org', 'canary']],
      body: { provider: { sort: 'price' } },
    })
    assert.deepEqual(columnsOf({ headers: null, body: {} }), { headers: null, body: null })
    assert.deepEqual(columnsOf({}), {})
    assert.equal(addedFields({ id: 'ups_1', headers: null, body: null }, sealer), null)
  })

  test('headers of the client, credentials and unsendable values – are rejected by name', () => {
    for (const name of [
      'Host',
      'content-length',
      'Authorization',
      'connection',
      'transfer-encoding',
      'x-api-key',
      'Proxy-Authorization',
      'X-Amz-Date',
    ])
      assert.throws(() => columnsOf({ headers: { [name]: 'x' } }), isParam(`headers.${name}`))
    assert.throws(() => columnsOf({ headers: { 'X-A': 'a\r\nhost: b' } }), isParam('headers.X-A'))
    assert.throws(() => columnsOf({ headers: { 'X-A': 'a', 'x-a': 'b' } }), isParam('headers.X-A'))
    assert.throws(() => columnsOf({ headers: { 'X A': 'a' } }), isParam('headers'))
    assert.throws(() => columnsOf({ headers: { '': 'a' } }), isParam('headers'))
  })

  test('body fields that money depends on – are rejected by path', () => {
    for (const name of [
      'model',
      'stream',
      'stream_options',
      'n',
      'service_tier',
      'max_tokens',
      'max_completion_tokens',
      'max_output_tokens',
      'num_predict',
      'thread',
      'web_search_options',
    ])
      assert.throws(() => columnsOf({ body: { [name]: 1 } }), isParam(`body.${name}`))
    assert.throws(
      () => columnsOf({ body: { generationConfig: { maxOutputTokens: 1 } } }),
      isParam('body.generationConfig.maxOutputTokens'),
    )
    assert.throws(() => columnsOf({ body: { user: 'x'.repeat(20_000) } }), isParam('body'))
  })
})
