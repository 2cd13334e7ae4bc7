import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { createAccount } from './accounts.ts'
import { answerLimitRequest, countOpenLimitRequests, createLimitRequest } from './limit-requests.ts'

describe('limit requests', () => {
  test('countOpenLimitRequests – counts more than one page, without answered requests', async (t) => {
    const db = await openTemporaryDb(t)
    let lastId = ''
    for (let number = 0; number < 102; number += 1) {
      const { value: account } = await createAccount(db, { email: `account-${number}@example.com` }, 'x')
      const request = { accountId: account.id, wanted: { rpm: 500 }, reason: 'A fair.' }
      lastId = (await createLimitRequest(db, request, 'x')).id
    }
    await answerLimitRequest(db, lastId, { status: 'declined', answer: 'No.' }, 'x')
    assert.equal(await countOpenLimitRequests(db), 101)
  })
})
