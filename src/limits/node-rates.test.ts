/** What rates promise to a node of a cluster, in memory and in Redis: one suite for both. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startRedis, withoutRedis } from '../shared/redis.fixture.ts'
import { claimant, none } from './claims.fixture.ts'
import { AloneRates, type NodeRates } from './node-rates.ts'
import type { Claim, RateLimits } from './rate-limiter.ts'
import { RedisRates } from './redis-rates.ts'

/** So long that nothing is renewed by itself in a test. */
const leaseMs = 60_000
let named = 0
interface Kind {
  readonly name: string
  readonly skip: string | false
  readonly open: (aheadMs: () => number) => Promise<NodeRates>
}

const whole = { nodes: 1, place: 0 }
const redis = withoutRedis === false ? await startRedis() : undefined
after(() => redis?.stop())

async function openRedisRates(aheadMs: () => number): Promise<NodeRates> {
  const steady = (): number => Math.floor(performance.now())
  const alone = new AloneRates(() => whole, steady)
  const rates = new RedisRates({ url: redis?.url ?? '', leaseMs, alone, steady, aheadMs })
  while (!rates.isShared) await delay(5)
  return rates
}

const kinds: Kind[] = [
  {
    name: 'memory',
    skip: false,
    open: async (aheadMs) =>
      new AloneRates(
        () => whole,
        () => 1_790_000_000_000 + aheadMs(),
      ),
  },
  { name: 'Redis', skip: withoutRedis, open: openRedisRates },
]

for (const { name, skip, open } of kinds) {
  test(
    `of 200 calls at once under 60 a minute exactly 60 are admitted, and the next 60 a minute later (${name})`,
    { skip },
    async (t) => {
      let ahead = 0
      const rates = await open(() => ahead)
      t.after(() => rates.close())
      const claims = claimant({ rpm: 60 })
      const admitted = async (round: number): Promise<number> => {
        const all = Array.from({ length: 200 }, (_, index) =>
          Promise.resolve(rates.reserve(`${name}-${round}-${index}`, claims, 1)),
        )
        return (await Promise.all(all)).filter(({ denial }) => denial === null).length
      }
      assert.equal(await admitted(1), 60)
      const { denial, status } = await rates.reserve('more', claims, 1)
      assert.partialDeepStrictEqual(denial, { rate: 'requests per minute', limit: 60 })
      assert.ok(
        denial &&
          denial.retryAfterMs !== null &&
          denial.retryAfterMs > 55_000 &&
          denial.retryAfterMs <= 61_000,
      )
      assert.equal(status.remainingRequests, 0)
      ahead += 58_000
      assert.equal(await admitted(2), 0)
      ahead += 4000
      assert.equal(await admitted(3), 60)
    },
  )

  test(`refused by one window, a call has consumed no other (${name})`, { skip }, async (t) => {
    const rates = await open(() => 0)
    t.after(() => rates.close())
    const refusing: [Partial<RateLimits>, Partial<RateLimits>][] = [
      [{ rpm: 100, tpm: 1000, concurrency: 10 }, { rpm: 0 }],
      [{ rpm: 100, tpm: 1000, concurrency: 10 }, { tpm: 5 }],
      [{ rpm: 100, tpm: 1000, concurrency: 10 }, { concurrency: 0 }],
      [{ rpm: 100, tpm: 5, concurrency: 10 }, { rpm: 10 }],
    ]
    for (const [account, key] of refusing) {
      const claims = claimant(account, key)
      named += 1
      assert.ok((await rates.reserve(`refused-${named}`, claims, 10)).denial)
      const wide = claims.map(({ subject }) => ({ subject, limits: { ...none, rpm: 100, tpm: 1000 } }))
      const { status } = await rates.reserve(`wide-${named}`, wide, 10)
      assert.deepEqual([status.remainingRequests, status.remainingTokens], [99, 990])
    }
  })

  test(
    `tokens are corrected by what they were, a slot comes free, and a ledger’s no gives everything back (${name})`,
    { skip },
    async (t) => {
      let ahead = 0
      const rates = await open(() => ahead)
      t.after(() => rates.close())
      const claims = claimant({ tpm: 1000, concurrency: 2 })
      const left = async (): Promise<number> => {
        const { status } = await rates.reserve(
          `look-${(named += 1)}`,
          [{ subject: claims[0]?.subject ?? '', limits: { ...none, tpm: 1000 } }],
          0,
        )
        rates.finish(`look-${named}`, 0)
        return status.remainingTokens
      }
      await rates.reserve('small', claims, 400)
      assert.equal(await left(), 600)
      rates.finish('small', 100)
      assert.equal(await left(), 900)
      await rates.reserve('given', claims, 300)
      rates.giveBack('given')
      assert.equal(await left(), 900)
      await rates.reserve('one', claims, 1)
      await rates.reserve('two', claims, 1)
      assert.partialDeepStrictEqual((await rates.reserve('three', claims, 1)).denial, {
        rate: 'concurrent requests',
        limit: 2,
      })
      rates.finish('one', 5000)
      assert.equal(await left(), 0)
      ahead += 62_000
      assert.equal((await rates.reserve('three', claims, 1)).denial, null)
      const large = await rates.reserve('large', claimant({ tpm: 10 }), 11)
      assert.equal(large.denial?.retryAfterMs, null)
    },
  )
}

test(
  'two nodes share a limit in Redis; without it each admits its share, and says so',
  { skip: withoutRedis },
  async (t) => {
    const server = await startRedis()
    t.after(() => server.stop())
    const steady = (): number => Math.floor(performance.now())
    const nodes = [0, 1].map((place) => {
      const alone = new AloneRates(() => ({ nodes: 2, place }), steady)
      return new RedisRates({ url: server.url, leaseMs, alone, steady })
    })
    t.after(() => Promise.all(nodes.map((node) => node.close())))
    for (const node of nodes) while (!node.isShared) await delay(5)
    const admitted = async (claims: Claim[], prefix: string): Promise<number[]> => {
      const counts: number[] = []
      for (const [index, node] of nodes.entries()) {
        const all = Array.from({ length: 50 }, (_, call) =>
          node.reserve(`${prefix}-${index}-${call}`, claims, 1),
        )
        counts.push((await Promise.all(all)).filter(({ denial }) => denial === null).length)
      }
      return counts
    }
    assert.deepEqual(await admitted(claimant({ rpm: 61 }), 'shared'), [50, 11])
    await server.stop()
    while (nodes.some((node) => node.isShared)) await delay(5)
    assert.deepEqual(await admitted(claimant({ rpm: 61 }), 'alone'), [31, 30])
    await server.start()
    const claims = claimant({ rpm: 61 })
    await delay(1500)
    assert.deepEqual(await admitted(claims, 'again'), [31, 30], 'shares go on for a minute')
  },
)
