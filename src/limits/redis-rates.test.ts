/** What becomes of slots and windows where a node or Redis goes away, stands still, or forgets. */
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openMovingWay, openWayTo } from '../lib/tcp-proxy.fixture.ts'
import { startRedis, withoutRedis } from '../shared/redis.fixture.ts'
import { RedisWindows } from '../shared/redis-sliding-windows.ts'
import { claimant } from './claims.fixture.ts'
import { AloneRates, type NodeRates } from './node-rates.ts'
import type { Claim } from './rate-limiter.ts'
import { RedisRates } from './redis-rates.ts'

/** So long that nothing is renewed by itself in a test. */
const leaseMs = 60_000
const whole = { nodes: 1, place: 0 }
const redis = withoutRedis === false ? await startRedis() : undefined
after(() => redis?.stop())

interface Apart {
  readonly rates: RedisRates
  readonly alone: AloneRates
}

/** A node of its own over a Redis. */
function openNode(t: TestContext, url: string, lease: number, aheadMs: () => number = () => 0): Apart {
  const steady = (): number => Math.floor(performance.now()) + aheadMs()
  const alone = new AloneRates(() => whole, steady)
  const rates = new RedisRates({ url, leaseMs: lease, alone, steady, aheadMs })
  t.after(() => rates.close())
  return { rates, alone }
}

/** A way on which, from the first answer to a script on, a byte comes through from time to time, so that it is never silent. */
function openSlowWay(t: TestContext, url: string): Promise<string> {
  return openWayTo(
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

const isTaken = async (rates: NodeRates, id: string, claims: Claim[]): Promise<boolean> =>
  (await rates.reserve(id, claims, 1)).denial?.rate === 'concurrent requests'

test(
  'a slot of a node that was killed is free a lease later and not before, or as soon as somebody says that its request has ended',
  { skip: withoutRedis },
  async (t) => {
    let ahead = 0
    const url = redis?.url ?? ''
    const [{ rates: gone }, { rates: other }] = [
      openNode(t, url, leaseMs, () => ahead),
      openNode(t, url, leaseMs, () => ahead),
    ]
    while (!gone.isShared || !other.isShared) await delay(5)
    const [lapsing, ended] = [claimant({ concurrency: 1 }), claimant({}, { concurrency: 1 })]
    await gone.reserve('lapsing', lapsing, 1)
    await gone.reserve('ended', ended, 1)
    await gone.close()
    ahead = leaseMs - 2000
    assert.ok(await isTaken(other, 'early', lapsing))
    assert.ok(await isTaken(other, 'too early', ended))
    // Whoever is told of it before it has found Redis tells it then.
    const { rates: again } = openNode(t, url, leaseMs, () => ahead)
    again.free(
      'ended',
      ended.map(({ subject }) => subject),
    )
    while (await isTaken(other, 'after its end', ended)) await delay(5)
    assert.ok(await isTaken(other, 'still early', lapsing))
    ahead = leaseMs + 2000
    assert.ok(!(await isTaken(other, 'in time', lapsing)))
  },
)

test(
  'a request that ends before Redis has counted it leaves no slot taken, and one that runs has its slot again in a Redis that forgot it',
  { skip: withoutRedis },
  async (t) => {
    const server = await startRedis()
    t.after(() => server.stop())
    let ahead = 0
    const { rates, alone } = openNode(t, server.url, 300, () => ahead)
    alone.remember(['account:before'], 1)
    const short = claimant({ concurrency: 1 })
    // In the minute in which Redis is there, and nodes admit their shares and count in Redis what they admit.
    const isThere = (): boolean => {
      ahead = 62_000
      const { isShared } = rates
      ahead = 0
      return isShared
    }
    while (!isThere()) await delay(5)
    await rates.reserve('short', short, 1)
    rates.finish('short', 0)
    const long = claimant({ concurrency: 1 })
    await rates.reserve('long', long, 1)
    const { rates: other } = openNode(t, server.url, 300)
    while (!other.isShared) await delay(5)
    while (!(await isTaken(other, 'beside it', long))) other.finish('beside it', 0)
    await delay(500)
    assert.ok(await isTaken(other, 'beside it', long), 'its lease was not made longer')
    assert.ok(!(await isTaken(other, 'after it', short)))
    other.finish('after it', 1)
    await server.stop()
    await server.start()
    const { rates: later } = openNode(t, server.url, 300)
    while (!later.isShared) await delay(5)
    while (!(await isTaken(later, 'later', long))) {
      later.finish('later', 0)
      await delay(20)
    }
    assert.ok(!(await isTaken(later, 'after all', short)))
    rates.finish('long', 0)
    while (await isTaken(later, 'at the end', long)) await delay(5)
  },
)

test(
  'a Redis that stands still is away; what it was asked for meanwhile leaves no slot taken when it goes on',
  { skip: withoutRedis },
  async (t) => {
    const server = await startRedis()
    t.after(() => server.stop())
    const { rates } = openNode(t, server.url, leaseMs)
    const away = Promise.withResolvers<void>()
    const nothing = (): undefined => undefined
    const windows = new RedisWindows({
      url: server.url,
      leaseMs,
      onReady: nothing,
      onAway: () => away.resolve(),
    })
    t.after(() => windows.close())
    const { rates: other } = openNode(t, server.url, leaseMs)
    while (!rates.isShared || !other.isShared) await delay(5)
    const claims = claimant({ concurrency: 1, tpm: 10 })
    server.signal('SIGSTOP')
    const asked = [rates.reserve('large', claims, 11), rates.reserve('small', claims, 1)]
    void windows.renew({ id: 'any', group: 'any', subjects: ['any'] }).catch(nothing)
    const denials = (await Promise.all(asked)).map(({ denial }) => denial?.rate ?? null)
    assert.deepEqual(denials, ['tokens per minute', null])
    rates.finish('small', 1)
    await away.promise
    server.signal('SIGCONT')
    while (await isTaken(other, 'afterwards', claims)) await delay(5)
  },
)

test(
  'a Redis that takes no writes any more is away, and the next one is asked where its name leads',
  { skip: withoutRedis },
  async (t) => {
    const [before, now] = await Promise.all([startRedis(), startRedis()])
    t.after(() => Promise.all([before.stop(), now.stop()]))
    const way = await openMovingWay(t, before.url)
    let ahead = 0
    const { rates } = openNode(t, way.url, leaseMs, () => ahead)
    const { rates: other } = openNode(t, now.url, leaseMs, () => ahead)
    while (!rates.isShared || !other.isShared) await delay(5)
    const claims = claimant({ concurrency: 1 })
    way.leadTo(now.url)
    await before.follow(now)
    // It refuses to count, so the node admits its share.
    assert.equal((await rates.reserve('first', claims, 1)).denial, null)
    assert.ok(!rates.isShared)
    rates.finish('first', 1)
    const isCountedThere = async (): Promise<boolean> => {
      // A minute later, as often as it is refused.
      ahead += 62_000
      assert.equal((await rates.reserve('second', claims, 1)).denial, null)
      const isThere = rates.isShared && (await isTaken(other, 'beside it', claims))
      rates.finish('second', 1)
      other.finish('beside it', 1)
      return isThere
    }
    while (!(await isCountedThere())) await delay(20)
  },
)

test(
  'a connection on which nearly everything comes too late is given up, so that nothing gathers on it',
  { skip: withoutRedis },
  async (t) => {
    const server = await startRedis()
    t.after(() => server.stop())
    const away = Promise.withResolvers<string>()
    const ready = Promise.withResolvers<void>()
    const windows = new RedisWindows({
      url: await openSlowWay(t, server.url),
      leaseMs,
      onReady: () => ready.resolve(),
      onAway: (why) => away.resolve(why),
    })
    t.after(() => windows.close())
    await ready.promise
    const claims = [{ subject: 'any', requests: 1, tokens: null, slots: null }]
    const reserved = Array.from({ length: 1000 }, (_, call) =>
      windows.reserve({ id: `call-${call}`, group: 'any', tokens: 1 }, claims),
    )
    const outcomes = await Promise.allSettled(reserved)
    await away.promise
    assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  },
)

test('where Redis is not there at the start a node admits its share until it comes', async (t) => {
  const unused = 'redis://127.0.0.1:1'
  const { rates } = openNode(t, unused, leaseMs)
  const claims = claimant({ rpm: 2 })
  const denials = [1, 2, 3].map(async (call) => (await rates.reserve(`away-${call}`, claims, 1)).denial)
  assert.deepEqual(
    (await Promise.all(denials)).map((denial) => denial === null),
    [true, true, false],
  )
  assert.ok(!rates.isShared)
})
