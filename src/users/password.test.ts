import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../errors.ts'
import { checkNewPassword, hashPassword, verifyPassword } from './password.ts'

describe('passwords', () => {
  test('verifyPassword – accepts the password in any Unicode form, and no other', async () => {
    const storedHash = await hashPassword('ein Käsekuchen')
    assert.match(storedHash, /^\$argon2id\$v=19\$m=47104,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    assert.notEqual(await hashPassword('ein Käsekuchen'), storedHash, 'salted')
    assert.equal(await verifyPassword('ein Käsekuchen'.normalize('NFD'), storedHash), true)
    assert.equal(await verifyPassword('ein Käsekuchen ', storedHash), false)
    assert.equal(await verifyPassword('', storedHash), false)
  })

  test('a user without password – no password is accepted, not even an empty one', async () => {
    for (const guess of ['', 'anything', '\0'.repeat(32)])
      assert.equal(await verifyPassword(guess, null), false)
  })

  test('checkNewPassword – rejects short, common and own-address passwords', () => {
    const isAccepted = (password: string): boolean => {
      try {
        checkNewPassword(password, 'johanna@example.com')
        return true
      } catch (error) {
        assert.ok(
          error instanceof ApiError && error.code === 'password_refused' && error.detail.param === 'password',
        )
        return false
      }
    }
    const rejected = [
      'short',
      '123456789',
      'Password123',
      'johanna@example.com',
      'Johanna2024',
      'aabbaabbaabb',
      'x'.repeat(257),
    ]
    for (const password of rejected) assert.equal(isAccepted(password), false, password)
    for (const password of ['a quiet harbour', '正确的马电池订书钉的长密码', 'x9'.repeat(5) + 'yz']) {
      assert.equal(isAccepted(password), true, password)
    }
  })
})
