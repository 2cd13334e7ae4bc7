import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConnectionPool, type PooledConnection } from './connection-pool.ts'
import { waitUntil } from '../../../test/support/wait.ts'

interface TestConnection extends PooledConnection {
  isUsable: boolean
  isDestroyed: boolean
}

function createConnection(originKey: string): TestConnection {
  return {
    originKey,
    expiresAt: 0,
    isUsable: true,
    isDestroyed: false,
    destroy() {
      this.isDestroyed = true
    },
  }
}

function createPool(
  connections: TestConnection[],
  keepAliveMs = Infinity,
  maxIdlePerOrigin = 10,
): ConnectionPool<TestConnection> {
  const pool = new ConnectionPool<TestConnection>({ maxIdlePerOrigin, idleMs: 60_000 })
  for (const connection of connections) pool.release(connection, keepAliveMs)
  return pool
}

describe('ConnectionPool', () => {
  test('acquire – returns the most recently used connection of its origin', () => {
    const [one, two, other] = [createConnection('a'), createConnection('a'), createConnection('b')]
    const pool = createPool([one, two, other])
    assert.deepEqual(
      [pool.acquire('a'), pool.acquire('a'), pool.acquire('a'), pool.acquire('c')],
      [two, one, null, null],
    )
    assert.equal(pool.acquire('b'), other)
    assert.equal(pool.idleCount, 0)
  })

  test('acquire – skips closed and expired connections', async () => {
    const [one, two] = [createConnection('a'), createConnection('a')]
    const pool = createPool([one, two])
    two.isUsable = false
    assert.equal(pool.acquire('a'), one)
    assert.ok(two.isDestroyed)

    const soonOver = createConnection('a')
    const short = createPool([soonOver], 1005)
    await waitUntil(() => performance.now() > soonOver.expiresAt)
    assert.equal(short.acquire('a'), null)
    assert.ok(soonOver.isDestroyed)
  })

  test('release – closes a connection whose keep-alive timeout is at most a second', () => {
    const one = createConnection('a')
    assert.equal(createPool([one], 1000).idleCount, 0)
    assert.ok(one.isDestroyed)
  })

  test('release – beyond the bound, closes the connection that was idle longest', () => {
    const all = [createConnection('a'), createConnection('a'), createConnection('a'), createConnection('b')]
    const pool = createPool(all, Infinity, 2)
    assert.deepEqual(
      all.map(({ isDestroyed }) => isDestroyed),
      [true, false, false, false],
    )
    assert.equal(pool.idleCount, 3)
  })

  test('remove – forgets a connection that closed while idle', () => {
    const [one, two] = [createConnection('a'), createConnection('a')]
    const pool = createPool([one, two])
    pool.remove(two)
    pool.remove(createConnection('z'))
    assert.deepEqual([pool.acquire('a'), pool.acquire('a')], [one, null])
  })

  test('close – closes idle connections and pools no more', () => {
    const [one, two] = [createConnection('a'), createConnection('a')]
    const pool = createPool([one])
    pool.close()
    pool.release(two, Infinity)
    assert.deepEqual([one.isDestroyed, two.isDestroyed, pool.idleCount], [true, true, 0])
  })
})
