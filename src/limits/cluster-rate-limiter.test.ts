/** One suite for both implementations of ClusterRateLimiter: in memory and in Redis. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startRedis, redisSkipReason } from '../shared/redis.fixture.ts'
import { newSubjects, none } from './rate-limit-subjects.fixture.ts'
import { LocalRateLimiter, type ClusterRateLimiter } from './local-rate-limiter.ts'
import type { RateLimitSubject, RateLimits } from './rate-limiter.ts'
import { RedisRateLimiter } from './redis-rate-limiter.ts'
import { waitUntil } from '../../test/support/wait.ts'

/** Long enough that no lease is renewed during a test. */
const leaseMs = 60_000
let counter = 0
interface Implementation {
  readonly name: string
  readonly skip: string | false
  readonly open: (aheadMs: () => number) => Promise<ClusterRateLimiter>
}

const singleNode = { nodes: 1, index: 0 }
const redis = redisSkipReason === false ? await startRedis() : undefined
after(() => redis?.stop())

async function createRedisLimiter(aheadMs: () => number): Promise<ClusterRateLimiter> {
  const monotonicNow = (): number => Math.floor(performance.now())
  const local = new LocalRateLimiter(() => singleNode, monotonicNow)
  const limiter = new RedisRateLimiter({ url: redis?.url ?? '', leaseMs, local, monotonicNow, aheadMs })
  await waitUntil(() => limiter.isShared)
  return limiter
}

const implementations: Implementation[] = [
  {
    name: 'memory',
    skip: false,
    open: async (aheadMs) =>
      new LocalRateLimiter(
        () => singleNode,
        () => 1_790_000_000_000 + aheadMs(),
      ),
  },
  { name: 'Redis', skip: redisSkipReason, open: createRedisLimiter },
]

describe('ClusterRateLimiter', () => {
  for (const { name, skip, open } of implementations) {
    test(
      `${name} – admits exactly 60 of 200 calls under 60 rpm, and 60 more a minute later`,
      { skip },
      async (t) => {
        let ahead = 0
        const limiter = await open(() => ahead)
        t.after(() => limiter.close())
        const subjects = newSubjects({ rpm: 60 })
        const admitted = async (round: number): Promise<number> => {
          const all = Array.from({ length: 200 }, (_, index) =>
            Promise.resolve(limiter.reserve(`${name}-${round}-${index}`, subjects, 1)),
          )
          return (await Promise.all(all)).filter(({ denial }) => denial === null).length
        }
        assert.equal(await admitted(1), 60)
        const { denial, status } = await limiter.reserve('more', subjects, 1)
        assert.partialDeepStrictEqual(denial, { rate: 'requests per minute', limit: 60 })
        assert.ok(
          denial &&
            denial.retryAfterMs !== null &&
            denial.retryAfterMs > 30_000 &&
            denial.retryAfterMs <= 61_000,
        )
        assert.equal(status.remainingRequests, 0)
        ahead += 30_000
        assert.equal(await admitted(2), 0)
        ahead += 32_000
        assert.equal(await admitted(3), 60)
      },
    )

    test(
      `${name} – a raised reservation counts more tokens, fits or not, and is corrected`,
      { skip },
      async (t) => {
        const limiter = await open(() => 0)
        t.after(() => limiter.close())
        const subjects = newSubjects({ tpm: 100 })
        const id = `raised-${(counter += 1)}`
        assert.equal((await limiter.reserve(id, subjects, 10)).denial, null)
        limiter.raise(id, 500)
        limiter.raise(id, 20)
        const { denial } = await limiter.reserve(`${id}-next`, subjects, 1)
        assert.partialDeepStrictEqual(denial, { rate: 'tokens per minute' })
        limiter.finish(id, 30)
        const { denial: none, status } = await limiter.reserve(`${id}-last`, subjects, 1)
        assert.equal(none, null)
        assert.equal(status.remainingTokens, 69)
      },
    )

    test(`${name} – a call denied by one limit consumes no other`, { skip }, async (t) => {
      const limiter = await open(() => 0)
      t.after(() => limiter.close())
      const refusing: [Partial<RateLimits>, Partial<RateLimits>][] = [
        [{ rpm: 100, tpm: 1000, concurrency: 10 }, { rpm: 0 }],
        [{ rpm: 100, tpm: 1000, concurrency: 10 }, { tpm: 5 }],
        [{ rpm: 100, tpm: 1000, concurrency: 10 }, { concurrency: 0 }],
        [{ rpm: 100, tpm: 5, concurrency: 10 }, { rpm: 10 }],
      ]
      for (const [account, key] of refusing) {
        const subjects = newSubjects(account, key)
        counter += 1
        assert.ok((await limiter.reserve(`refused-${counter}`, subjects, 10)).denial)
        const wide = subjects.map(({ subject }) => ({ subject, limits: { ...none, rpm: 100, tpm: 1000 } }))
        const { status } = await limiter.reserve(`wide-${counter}`, wide, 10)
        assert.deepEqual([status.remainingRequests, status.remainingTokens], [99, 990])
      }
    })

    test(
      `${name} – corrects tokens, frees slots, and gives everything back on cancel`,
      { skip },
      async (t) => {
        let ahead = 0
        const limiter = await open(() => ahead)
        t.after(() => limiter.close())
        const subjects = newSubjects({ tpm: 1000, concurrency: 2 })
        const left = async (): Promise<number> => {
          const { status } = await limiter.reserve(
            `look-${(counter += 1)}`,
            [{ subject: subjects[0]?.subject ?? '', limits: { ...none, tpm: 1000 } }],
            0,
          )
          limiter.finish(`look-${counter}`, 0)
          return status.remainingTokens
        }
        await limiter.reserve('small', subjects, 400)
        assert.equal(await left(), 600)
        limiter.finish('small', 100)
        assert.equal(await left(), 900)
        await limiter.reserve('given', subjects, 300)
        limiter.cancel('given')
        assert.equal(await left(), 900)
        await limiter.reserve('one', subjects, 1)
        await limiter.reserve('two', subjects, 1)
        assert.partialDeepStrictEqual((await limiter.reserve('three', subjects, 1)).denial, {
          rate: 'concurrent requests',
          limit: 2,
        })
        limiter.finish('one', 5000)
        assert.equal(await left(), 0)
        ahead += 62_000
        assert.equal((await limiter.reserve('three', subjects, 1)).denial, null)
        const large = await limiter.reserve('large', newSubjects({ tpm: 10 }), 11)
        assert.equal(large.denial?.retryAfterMs, null)
      },
    )
  }
})

describe('RedisRateLimiter', () => {
  test(
    'two nodes – share a limit in Redis, and admit their shares without Redis',
    { skip: redisSkipReason },
    async (t) => {
      const server = await startRedis()
      t.after(() => server.stop())
      let ahead = 0
      const monotonicNow = (): number => Math.floor(performance.now()) + ahead
      const nodes = [0, 1].map((place) => {
        const local = new LocalRateLimiter(() => ({ nodes: 2, index: place }), monotonicNow)
        return new RedisRateLimiter({ url: server.url, leaseMs, local, monotonicNow })
      })
      t.after(() => Promise.all(nodes.map((node) => node.close())))
      await waitUntil(() => nodes.every((node) => node.isShared))
      const admitted = async (subjects: RateLimitSubject[], prefix: string): Promise<number[]> => {
        const counts: number[] = []
        for (const [index, node] of nodes.entries()) {
          const all = Array.from({ length: 50 }, async (_, call) =>
            node.reserve(`${prefix}-${index}-${call}`, subjects, 1),
          )
          counts.push((await Promise.all(all)).filter(({ denial }) => denial === null).length)
        }
        return counts
      }
      assert.deepEqual(await admitted(newSubjects({ rpm: 61 }), 'shared'), [50, 11])
      await server.stop()
      await waitUntil(() => !nodes.some((node) => node.isShared))
      assert.deepEqual(await admitted(newSubjects({ rpm: 61 }), 'alone'), [31, 30])
      await server.start()
      const subjects = newSubjects({ rpm: 61 })
      // Nodes that Redis serves again share the limit a minute later.
      const areConnected = (): boolean => {
        ahead = 62_000
        const areShared = nodes.every((node) => node.isShared)
        ahead = 0
        return areShared
      }
      await waitUntil(areConnected)
      assert.deepEqual(await admitted(subjects, 'again'), [31, 30], 'nodes keep to their shares for a minute')
    },
  )
})
