/** The limits of a caller at a node of a cluster: after a restart, after its node was retired, and in its response headers. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Directory } from '../accounts/directory.ts'
import { Catalog } from '../catalog/catalog.ts'
import { openLocalJournal } from '../db/sqlite/local-journal.ts'
import { joinCluster, retireNode } from '../db/postgres/nodes.ts'
import { postgresSkipReason } from '../db/postgres/postgres.fixture.ts'
import { Authority } from '../engine/authority.ts'
import { NodeJournal } from '../engine/postgres/node-journal.ts'
import { recoverOpenHolds } from '../engine/postgres/recover-open-holds.ts'
import {
  at,
  credit,
  hold,
  openLedger,
  openLedgerWithHold,
  openNodeLedger,
  type TestLedger,
} from '../engine/postgres/shared-ledger.fixture.ts'
import { SharedStore } from '../engine/postgres/shared-store.ts'
import { SpendNotifications } from '../engine/spend-notifications.ts'
import { createSealer } from '../lib/encryption.ts'
import { EarlyAborts } from '../limits/early-aborts.ts'
import { LocalRateLimiter } from '../limits/local-rate-limiter.ts'
import { NodeMembership } from './node-membership.ts'

const skip = postgresSkipReason
const ignore = (): undefined => undefined
const now = (): number => at
const capNanos = 150n

const times = { created_at: 0, updated_at: 0, deleted_at: null }

/** An account whose key may spend little, with ten requests per minute. */
function createDirectory(): Directory {
  const directory = new Directory()
  const unlimited = { tpm: null, rpd: null, concurrency: null }
  const tier = { name: 'base', rpm: 10, ...unlimited, price_factor_ppm: 1_000_000, after_payment: null }
  const uncapped = { cap_daily_nanos: null, cap_monthly_nanos: null, limits: '{}' }
  const account = { id: 'one', email: '', email_normalised: '', name: '', tier: 'base', timezone: 'UTC' }
  const owner = { status: 'active', price_factor_ppm: null, low_balance_nanos: null, trial: 0 } as const
  const key = { id: 'key', account_id: 'one', name: '', hash: 'hash', prefix: 'sk-', last_four: '' }
  const open = { status: 'active', expires_at: null, models: null, ips: null, last_used_at: null } as const
  directory.apply({
    tiers: [tier],
    accounts: [{ ...account, ...owner, ...uncapped, ...times, first_paid_at: null }],
    keys: [{ ...key, ...open, ...uncapped, ...times, cap_total_nanos: capNanos }],
  })
  return directory
}

function createCatalog(): Catalog {
  const catalog = new Catalog(createSealer(Buffer.alloc(32)))
  const model = { id: 'm', context_tokens: 100, max_output_tokens: null, owned_by: '' }
  const free = { version: 1, model_id: 'm', effective_at: 0, free: 0, per_request_nanos: 0n } as const
  const price = { input_per_million_nanos: 1_000_000n, output_per_million_nanos: 1_000_000n }
  const others = {
    cached_input_per_million_nanos: null,
    cache_write_per_million_nanos: null,
    cache_write_1h_per_million_nanos: null,
    reasoning_per_million_nanos: null,
    per_search_nanos: null,
    units: null,
    effective_from: null,
  }
  const row = {
    ...model,
    hidden_reasoning: 0,
    listed: 1,
    routing: '{}',
    limits: '{}',
    timeouts: '{}',
    operations: '["chat"]',
    ...times,
  } as const
  const models = [{ model: row, prices: [{ ...free, ...price, ...others }], routes: [], maximums: [] }]
  catalog.apply({ upstreams: [], removedUpstreams: [], models })
  return catalog
}

/** The authority of a node, as after a start of its process. */
async function openAuthority(t: TestContext, { ledger, db }: TestLedger) {
  const dataDir = mkdtempSync(joinPath(tmpdir(), 'sluice-limits-'))
  const local = await openLocalJournal(dataDir)
  t.after(async () => {
    await local.close()
    rmSync(dataDir, { recursive: true })
  })
  const [journal, directory, catalog] = [new NodeJournal(local), createDirectory(), createCatalog()]
  const store = new SharedStore({ ledger, journal, db })
  const rates = new LocalRateLimiter(() => ({ nodes: 1, index: 0 }), now)
  const spenders = { state: store.state, directory, db, currency: 'CNY' }
  const spendNotifications = new SpendNotifications(spenders)
  const earlyAborts = new EarlyAborts(10)
  const clocks = { now, monotonicNow: now }
  const deps = { directory, catalog, ...clocks, store, rates, earlyAborts, spendNotifications, feed: null }
  return { authority: new Authority(deps), local, journal, rates }
}

/** The request has cost far more than its hold and its caps. */
const markHold = ({ db }: TestLedger): Promise<unknown> =>
  db.write({ sql: 'update holds set mark_input = 5000, mark_output = 1', parameters: [] })

async function spentNanos({ db }: TestLedger): Promise<bigint | undefined> {
  const query = { sql: `select total_spent_nanos from owners where id = 'k:key'`, parameters: [] }
  return (await db.first<{ total_spent_nanos: bigint }>(query))?.total_spent_nanos
}

describe('limits of a caller in a cluster', () => {
  test('hold of a restarted node – is charged within the caps of its caller', { skip }, async (t) => {
    const before = await openLedgerWithHold(t)
    await markHold(before)
    const node = await openNodeLedger(t, 'one', before.url, { nextFault: () => 'pass' })
    const opened = await openAuthority(t, node)
    assert.equal(await recoverOpenHolds({ ...node, ...opened, id: 'one', now }), 1)
    assert.equal(await spentNanos(node), capNanos)
  })

  test('hold of a retired node – is charged within the caps of its caller', { skip }, async (t) => {
    const node = await openLedger(t, () => 'pass')
    await credit(node, 1_000_000n)
    const other = await openNodeLedger(t, 'two', node.url, { nextFault: () => 'pass' })
    await hold(other, 'req-1')
    await markHold(node)
    await retireNode(node.db, 'two')
    const join = (): Promise<number> => joinCluster(node.db, { id: 'one', name: 'one', version: '0' })
    const listener = { onWarning: ignore, onFailure: ignore }
    const clocks = { now, monotonicNow: now, retireAfterMs: 30_000 }
    const deps = { ...node, ...clocks, id: 'one', join, listener, onHoldEnded: ignore }
    const membership = new NodeMembership(deps, 1)
    t.after(() => membership.leave())
    membership.directory = createDirectory()
    assert.equal(await membership.endHoldsOfRetired(), 1)
    assert.equal(await spentNanos(node), capNanos)
  })

  test('request that the ledger rejects – does not count in the rate limit headers', { skip }, async (t) => {
    const { authority } = await openAuthority(t, await openLedger(t, () => 'pass'))
    const request = { id: 'req-1', keyId: 'key', model: 'm', inputTokens: 1, results: 1 }
    const response = await authority.hold({ ...request, requestedTokens: null, searches: 0, stream: true })
    assert.ok(!response.granted)
    assert.equal(response.code, 'insufficient_quota')
    assert.equal(response.rates?.limitRequests, 10)
    assert.equal(response.rates.remainingRequests, 10)
  })
})
