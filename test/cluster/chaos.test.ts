// @backend postgres – starts its own cluster
// @suite all – crash tests
/** A tenth of the chaos run of test/long/chaos.long.ts, for every change. */
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { redisSkipReason } from '../../src/shared/redis.fixture.ts'
import { runChaos } from '../long/chaos-run.ts'

const skip = postgresSkipReason === false ? redisSkipReason : postgresSkipReason

describe('Chaos', () => {
  test(
    'Killed workers, nodes and databases – at most 10 of 10,000 requests fail, charges right',
    { skip },
    (t) => runChaos(t, { requests: 10_000, rounds: 1, maxMs: 60_000 }),
  )
})
