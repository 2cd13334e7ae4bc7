// @backend postgres – starts its own cluster
// @suite all – restarts two nodes, each of which drains for 5 s
/** A rolling restart behind the nginx file that ships; test/long/rolling-restart.long.ts has 10,000 requests. */
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { runRollingRestarts } from '../long/rolling-restart.ts'
import { nginxSkipReason } from '../support/deploy/nginx.ts'

describe('Rolling restart', () => {
  test(
    'Nodes restarted in turn behind nginx – lose no request and charge each once',
    { skip: postgresSkipReason || nginxSkipReason },
    (t) => runRollingRestarts(t, { nodes: 2, requests: 500 }),
  )
})
