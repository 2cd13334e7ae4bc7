/** A rolling restart of three nodes loses none of ten thousand requests. */
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { nginxSkipReason } from '../support/deploy/nginx.ts'
import { runRollingRestarts } from './rolling-restart.ts'

describe('Rolling restarts', () => {
  test(
    'Nodes restarted in turn behind nginx – lose none of 10,000 requests and charge each once',
    { skip: postgresSkipReason || nginxSkipReason },
    (t) => runRollingRestarts(t, { nodes: 3, requests: 10_000 }),
  )
})
