/** The chaos run in full. */
import { test } from 'node:test'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { withoutRedis } from '../src/shared/redis.fixture.ts'
import { chaosRun } from './long/chaos-run.ts'

const skip = withoutPostgres === false ? withoutRedis : withoutPostgres

test(
  'workers and nodes are killed, PostgreSQL and Redis restarted, upstreams fail: of 100,000 requests over three nodes no more than 100 by our fault, and every charge is right',
  { skip },
  (t) => chaosRun(t, { requests: 100_000, rounds: 12, mostMs: 3_000_000 }),
)
