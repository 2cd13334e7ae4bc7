/** The full chaos run. */
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { redisSkipReason } from '../../src/shared/redis.fixture.ts'
import { runChaos } from './chaos-run.ts'

const skip = postgresSkipReason === false ? redisSkipReason : postgresSkipReason

describe('Chaos', () => {
  test(
    'Killed workers, nodes and databases – at most 100 of 100,000 requests fail, charges right',
    { skip },
    (t) => runChaos(t, { requests: 100_000, rounds: 12, maxMs: 3_000_000 }),
  )
})
