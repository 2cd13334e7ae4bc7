/** Slots and windows when a node crashes, or when Redis is down, frozen or loses its data. */
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { openRetargetableProxy, openTcpProxy } from '../lib/tcp-proxy.fixture.ts'
import { startRedis, redisSkipReason } from '../shared/redis.fixture.ts'
import { RedisSlidingWindows } from '../shared/redis-sliding-windows.ts'
import { newSubjects } from './rate-limit-subjects.fixture.ts'
import { LocalRateLimiter, type ClusterRateLimiter } from './local-rate-limiter.ts'
import type { RateLimitSubject } from './rate-limiter.ts'
import { RedisRateLimiter } from './redis-rate-limiter.ts'
import { staysFalse, waitUntil } from '../../test/support/wait.ts'

/** Long enough that no lease is renewed during a test. */
const leaseMs = 60_000
/** Renewed three times during a lease, so that a process that stalls for a second keeps it. */
const shortLeaseMs = 1500
const singleNode = { nodes: 1, index: 0 }
const redis = redisSkipReason === false ? await startRedis() : undefined
after(() => redis?.stop())

interface TestNode {
  readonly rates: RedisRateLimiter
  readonly alone: LocalRateLimiter
}

/** A new node on a Redis. */
function createNode(t: TestContext, url: string, lease: number, aheadMs: () => number = () => 0): TestNode {
  const monotonicNow = (): number => Math.floor(performance.now()) + aheadMs()
  const local = new LocalRateLimiter(() => singleNode, monotonicNow)
  const limiter = new RedisRateLimiter({ url, leaseMs: lease, local, monotonicNow, aheadMs })
  t.after(() => limiter.close())
  return { rates: limiter, alone: local }
}

/**
 * A proxy that, after the first script, passes one byte of the response at a time, so that the connection is never
 * idle.
 */
function createSlowProxy(t: TestContext, url: string): Promise<string> {
  return openTcpProxy(
    t,
    () => url,
    (near, far) => {
      let isSlow = false
      const rest: number[] = []
      const drip = setInterval(() => near.write(Uint8Array.of(...rest.splice(0, 1))), 100)
      near.on('data', (bytes: Buffer) => {
        isSlow ||= bytes.includes('eval')
        far.write(bytes)
      })
      far.on('data', (bytes: Buffer) => {
        if (isSlow) rest.push(...bytes)
        else near.write(bytes)
      })
      near.on('close', () => clearInterval(drip))
    },
  )
}

const isSlotTaken = async (
  limiter: ClusterRateLimiter,
  id: string,
  subjects: RateLimitSubject[],
): Promise<boolean> => (await limiter.reserve(id, subjects, 1)).denial?.rate === 'concurrent requests'

describe('RedisRateLimiter', () => {
  test(
    'crashed node – its slot is free after a lease, or as soon as its request is released',
    { skip: redisSkipReason },
    async (t) => {
      let ahead = 0
      const url = redis?.url ?? ''
      const [{ rates: crashed }, { rates: other }] = [
        createNode(t, url, leaseMs, () => ahead),
        createNode(t, url, leaseMs, () => ahead),
      ]
      await waitUntil(() => crashed.isShared && other.isShared)
      const [lapsing, ended] = [newSubjects({ concurrency: 1 }), newSubjects({}, { concurrency: 1 })]
      await crashed.reserve('lapsing', lapsing, 1)
      await crashed.reserve('ended', ended, 1)
      await crashed.close()
      ahead = leaseMs / 2
      assert.ok(await isSlotTaken(other, 'early', lapsing))
      assert.ok(await isSlotTaken(other, 'too early', ended))
      // A node that releases a slot before it has connected to Redis does so afterwards.
      const { rates: again } = createNode(t, url, leaseMs, () => ahead)
      again.release(
        'ended',
        ended.map(({ subject }) => subject),
      )
      await waitUntil(async () => !(await isSlotTaken(other, 'after its end', ended)))
      assert.ok(await isSlotTaken(other, 'still early', lapsing))
      ahead = leaseMs + 2000
      assert.ok(!(await isSlotTaken(other, 'in time', lapsing)))
    },
  )

  test(
    'slots – end with uncounted requests, and are restored in a Redis that lost them',
    { skip: redisSkipReason },
    async (t) => {
      const server = await startRedis()
      t.after(() => server.stop())
      let ahead = 0
      const { rates: limiter, alone: local } = createNode(t, server.url, shortLeaseMs, () => ahead)
      local.record(['account:before'], 1)
      const short = newSubjects({ concurrency: 1 })
      // In the minute in which Redis is back, and nodes still admit their shares and count them in Redis.
      const isThere = (): boolean => {
        ahead = 62_000
        const { isShared } = limiter
        ahead = 0
        return isShared
      }
      await waitUntil(isThere)
      await limiter.reserve('short', short, 1)
      limiter.finish('short', 0)
      const long = newSubjects({ concurrency: 1 })
      await limiter.reserve('long', long, 1)
      const { rates: other } = createNode(t, server.url, shortLeaseMs)
      await waitUntil(() => other.isShared)
      const isFree = async (): Promise<boolean> => !(await isSlotTaken(other, 'beside it', long))
      while (await isFree()) other.finish('beside it', 0)
      await staysFalse(isFree, 2 * shortLeaseMs, 'its lease was not renewed')
      assert.ok(!(await isSlotTaken(other, 'after it', short)))
      other.finish('after it', 1)
      await server.stop()
      await server.start()
      const { rates: later } = createNode(t, server.url, shortLeaseMs)
      await waitUntil(() => later.isShared)
      await waitUntil(async () => {
        const isTaken = await isSlotTaken(later, 'later', long)
        if (!isTaken) later.finish('later', 0)
        return isTaken
      })
      assert.ok(!(await isSlotTaken(later, 'after all', short)))
      limiter.finish('long', 0)
      await waitUntil(async () => !(await isSlotTaken(later, 'at the end', long)))
    },
  )

  test(
    'frozen Redis – is unavailable, and pending calls leave no slot taken',
    { skip: redisSkipReason },
    async (t) => {
      const server = await startRedis()
      t.after(() => server.stop())
      const { rates: limiter } = createNode(t, server.url, leaseMs)
      const away = Promise.withResolvers<void>()
      const nothing = (): undefined => undefined
      const windows = new RedisSlidingWindows({
        url: server.url,
        leaseMs,
        onReady: nothing,
        onUnavailable: () => away.resolve(),
      })
      t.after(() => windows.close())
      const { rates: other } = createNode(t, server.url, leaseMs)
      await waitUntil(() => limiter.isShared && other.isShared)
      const subjects = newSubjects({ concurrency: 1, tpm: 10 })
      server.signal('SIGSTOP')
      const reserve = async (id: string, tokens: number) => limiter.reserve(id, subjects, tokens)
      const pending = [reserve('large', 11), reserve('small', 1)]
      void windows.renew({ id: 'any', group: 'any', subjects: ['any'] }).catch(nothing)
      const denials = (await Promise.all(pending)).map(({ denial }) => denial?.rate ?? null)
      assert.deepEqual(denials, ['tokens per minute', null])
      limiter.finish('small', 1)
      await away.promise
      server.signal('SIGCONT')
      await waitUntil(async () => !(await isSlotTaken(other, 'afterwards', subjects)))
    },
  )

  test(
    'read-only Redis – is unavailable, and the next one is used once the name moves',
    { skip: redisSkipReason },
    async (t) => {
      const [before, now] = await Promise.all([startRedis(), startRedis()])
      t.after(() => Promise.all([before.stop(), now.stop()]))
      const proxy = await openRetargetableProxy(t, before.url)
      let ahead = 0
      const { rates: limiter } = createNode(t, proxy.url, leaseMs, () => ahead)
      const { rates: other } = createNode(t, now.url, leaseMs, () => ahead)
      await waitUntil(() => limiter.isShared && other.isShared)
      const subjects = newSubjects({ concurrency: 1 })
      proxy.retarget(now.url)
      await before.replicate(now)
      // Redis refuses writes, so the node admits its share.
      assert.equal((await limiter.reserve('first', subjects, 1)).denial, null)
      assert.ok(!limiter.isShared)
      limiter.finish('first', 1)
      const isCountedThere = async (): Promise<boolean> => {
        // A minute later, for each refusal.
        ahead += 62_000
        assert.equal((await limiter.reserve('second', subjects, 1)).denial, null)
        const isThere = limiter.isShared && (await isSlotTaken(other, 'beside it', subjects))
        limiter.finish('second', 1)
        other.finish('beside it', 1)
        return isThere
      }
      await waitUntil(isCountedThere)
    },
  )

  test(
    'slow connection – is closed, so that no calls pile up on it',
    { skip: redisSkipReason },
    async (t) => {
      const server = await startRedis()
      t.after(() => server.stop())
      const away = Promise.withResolvers<string>()
      const ready = Promise.withResolvers<void>()
      const windows = new RedisSlidingWindows({
        url: await createSlowProxy(t, server.url),
        leaseMs,
        onReady: () => ready.resolve(),
        onUnavailable: (why) => away.resolve(why),
      })
      t.after(() => windows.close())
      await ready.promise
      const subjects = [{ subject: 'any', requests: 1, tokens: null, slots: null }]
      const reserved = Array.from({ length: 1000 }, (_, call) =>
        windows.reserve({ id: `call-${call}`, group: 'any', tokens: 1 }, subjects),
      )
      const outcomes = await Promise.allSettled(reserved)
      await away.promise
      assert.ok(outcomes.every(({ status }) => status === 'rejected'))
    },
  )

  test('missing Redis – the node admits its share from the start', async (t) => {
    const unused = 'redis://127.0.0.1:1'
    const { rates: limiter } = createNode(t, unused, leaseMs)
    const subjects = newSubjects({ rpm: 2 })
    const denials = [1, 2, 3].map(async (call) => (await limiter.reserve(`away-${call}`, subjects, 1)).denial)
    assert.deepEqual(
      (await Promise.all(denials)).map((denial) => denial === null),
      [true, true, false],
    )
    assert.ok(!limiter.isShared)
  })
})
