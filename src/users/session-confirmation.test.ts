import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openAnyStore } from '../db/store.fixture.ts'
import { confirmSession, isConfirmed } from './session-confirmation.ts'
import { deleteExpiredSessions, openSession } from './sessions.ts'
import { createUser } from './users.ts'

const input = {
  email: 'boss@example.com',
  normalised: 'boss@example.com',
  name: '',
  role: 'operator',
  accountId: null,
  language: 'en',
  passwordHash: null,
  isVerified: false,
} as const

describe('session confirmation', () => {
  test('confirmation – holds for five minutes and for its session only', async (t) => {
    const { db } = await openAnyStore(t)
    const user = await createUser(db, input)
    const signIn = { address: '127.0.0.1', agent: 'test', method: 'password' }
    const { session } = await openSession(db, user, signIn)
    const { session: other } = await openSession(db, user, signIn)
    const startedAt = Date.now()
    assert.equal(await isConfirmed(db, session, startedAt), false)
    const expiresAt = await confirmSession(db, { user, session })
    assert.ok(expiresAt >= startedAt + 300_000 && expiresAt <= Date.now() + 300_000)
    assert.equal(await isConfirmed(db, session, expiresAt - 1), true)
    assert.equal(await isConfirmed(db, session, expiresAt), false)
    assert.equal(await isConfirmed(db, other, startedAt), false)
    await deleteExpiredSessions(db, expiresAt)
    assert.equal(await isConfirmed(db, session, startedAt), false, 'its row is deleted')
  })
})
