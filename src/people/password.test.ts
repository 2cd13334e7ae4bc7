import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../errors.ts'
import { checkNewPassword, hashOfPassword, isPassword } from '../users/password.ts'

test('a password is the one that was kept, whatever form its characters were typed in, and no other is', async () => {
  const kept = await hashOfPassword('ein Käsekuchen')
  assert.match(kept, /^\$argon2id\$v=19\$m=47104,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.notEqual(await hashOfPassword('ein Käsekuchen'), kept, 'salted')
  assert.equal(await isPassword('ein Käsekuchen'.normalize('NFD'), kept), true)
  assert.equal(await isPassword('ein Käsekuchen ', kept), false)
  assert.equal(await isPassword('', kept), false)
})

test('nobody has a password, not even an empty one or that of the stand-in', async () => {
  for (const guess of ['', 'anything', '\0'.repeat(32)]) assert.equal(await isPassword(guess, null), false)
})

test('a new password is long enough, not well known, and not one’s own address', () => {
  const isTaken = (password: string): boolean => {
    try {
      checkNewPassword(password, 'johanna@example.com')
      return true
    } catch (error) {
      assert.ok(
        error instanceof Refusal && error.code === 'password_refused' && error.detail.param === 'password',
      )
      return false
    }
  }
  const refused = [
    'short',
    '123456789',
    'Password123',
    'johanna@example.com',
    'Johanna2024',
    'aabbaabbaabb',
    'x'.repeat(257),
  ]
  for (const password of refused) assert.equal(isTaken(password), false, password)
  for (const password of ['a quiet harbour', '正确的马电池订书钉的长密码', 'x9'.repeat(5) + 'yz']) {
    assert.equal(isTaken(password), true, password)
  }
})
