import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool, type Idle } from './http-client/connection-pool.ts'

interface Kept extends Idle {
  isUsable: boolean
  isDropped: boolean
}

function kept(originKey: string): Kept {
  return {
    originKey,
    expiresAt: 0,
    isUsable: true,
    isDropped: false,
    drop() {
      this.isDropped = true
    },
  }
}

function poolOf(connections: Kept[], keepAliveMs = Infinity, maxIdlePerOrigin = 10): Pool<Kept> {
  const pool = new Pool<Kept>({ maxIdlePerOrigin, idleMs: 60_000 })
  for (const connection of connections) pool.put(connection, keepAliveMs)
  return pool
}

test('the connection used last is taken first, and only for its origin', () => {
  const [one, two, other] = [kept('a'), kept('a'), kept('b')]
  const pool = poolOf([one, two, other])
  assert.deepEqual([pool.take('a'), pool.take('a'), pool.take('a'), pool.take('c')], [two, one, null, null])
  assert.equal(pool.take('b'), other)
  assert.equal(pool.idleCount, 0)
})

test('a connection that has just ended, or that its other side may have closed, is not taken', async () => {
  const [one, two] = [kept('a'), kept('a')]
  const pool = poolOf([one, two])
  two.isUsable = false
  assert.equal(pool.take('a'), one)
  assert.ok(two.isDropped)

  const soonOver = kept('a')
  const short = poolOf([soonOver], 1005)
  await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal(short.take('a'), null)
  assert.ok(soonOver.isDropped)
})

test('a connection that the other side keeps for a second at most is not kept', () => {
  const one = kept('a')
  assert.equal(poolOf([one], 1000).idleCount, 0)
  assert.ok(one.isDropped)
})

test('beyond the bound, the connection that waited longest is dropped', () => {
  const all = [kept('a'), kept('a'), kept('a'), kept('b')]
  const pool = poolOf(all, Infinity, 2)
  assert.deepEqual(
    all.map(({ isDropped }) => isDropped),
    [true, false, false, false],
  )
  assert.equal(pool.idleCount, 3)
})

test('a connection that closed while it waited is forgotten', () => {
  const [one, two] = [kept('a'), kept('a')]
  const pool = poolOf([one, two])
  pool.remove(two)
  pool.remove(kept('z'))
  assert.deepEqual([pool.take('a'), pool.take('a')], [one, null])
})

test('a closed pool keeps nothing', () => {
  const [one, two] = [kept('a'), kept('a')]
  const pool = poolOf([one])
  pool.close()
  pool.put(two, Infinity)
  assert.deepEqual([one.isDropped, two.isDropped, pool.idleCount], [true, true, 0])
})
