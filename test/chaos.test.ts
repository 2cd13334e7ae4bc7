/** A tenth of the chaos run of chaos.long.ts, on every change. */
import { test } from 'node:test'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { withoutRedis } from '../src/shared/redis.fixture.ts'
import { chaosRun } from './long/chaos-run.ts'

const skip = withoutPostgres === false ? withoutRedis : withoutPostgres

test(
  'workers and nodes are killed, PostgreSQL and Redis restarted, upstreams fail: of 10,000 requests over three nodes no more than 10 by our fault, and every charge is right',
  { skip },
  (t) => chaosRun(t, { requests: 10_000, rounds: 1, mostMs: 90_000 }),
)
