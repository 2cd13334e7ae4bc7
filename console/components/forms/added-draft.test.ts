import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addedDraftFrom, addedFromDraft } from './added-draft.ts'

describe('added fields of an upstream', () => {
  const empty = addedDraftFrom(null)

  test('headers – are read by line; an empty field keeps them, the checkbox removes them', () => {
    const headers = ' X-A: one:two \n\nX-B:3'
    assert.deepEqual(addedFromDraft({ ...empty, headers }), {
      headers: { 'X-A': 'one:two', 'X-B': '3' },
      body: null,
    })
    assert.deepEqual(addedFromDraft(empty), { body: null })
    assert.deepEqual(addedFromDraft({ ...empty, removes_headers: 'yes' }), { headers: null, body: null })
  })

  test('body – is shown as JSON and read back; other text is left to the API', () => {
    const body = { provider: { sort: 'price' } }
    assert.deepEqual(addedFromDraft(addedDraftFrom({ body })), { body })
    assert.deepEqual(addedFromDraft({ ...empty, body: '{' }), { body: '{' })
    assert.equal(addedDraftFrom({ body: {} }).body, '')
  })
})
