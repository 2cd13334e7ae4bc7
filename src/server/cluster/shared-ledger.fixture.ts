/** The ledger of a node by itself, over a PostgreSQL of its own, for tests; and what they ask of it. */
import { after, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Db } from '../../db/db.ts'
import { openClient } from '../../db/postgres/connection.ts'
import { openPostgresDb } from '../../db/postgres/postgres-db.ts'
import { joinCluster } from '../../db/postgres/nodes.ts'
import { startPostgres, type PostgresServer } from '../../db/postgres/postgres.fixture.ts'
import { openSnapshots } from '../../db/postgres/snapshot.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { noCaps, stream, usageOf } from '../../ledger/ledger.fixture.ts'
import { accountOwner, keyOwner } from '../../ledger/state.ts'
import { outcome } from '../../relay/request-outcome.fixture.ts'
import { openWay, type Fate } from './ledger/faulty-connection.fixture.ts'
import type { SharedLedgerParts } from './ledger-parts.ts'
import { SharedLedger } from './shared-ledger.ts'
import { verifyCluster } from '../verification/verify-cluster.ts'
import type { Credited, HoldWork } from './work.ts'

/** One for all tests of a file, each with a database of its own. */
let server: Promise<PostgresServer> | undefined
after(async () => (await server)?.remove())

const dayEnd = 1_814_400_000_000
export const at = dayEnd - 1000

interface Settings extends Partial<Pick<SharedLedgerParts, 'keep' | 'patienceMs'>> {
  readonly fateOf: () => Fate
}

export async function openLedgerOf(
  t: TestContext,
  id: string,
  url: string,
  { fateOf, ...settings }: Settings,
) {
  const db = openPostgresDb(url, 'test')
  const epoch = await joinCluster(db, { id, name: id, version: '0' })
  const told: string[] = []
  const ledger = new SharedLedger({
    url: await openWay(t, url, fateOf),
    node: id,
    epoch,
    now: () => at,
    keep: (work) => Promise.resolve(work.answer(0n)),
    forget: () => undefined,
    listener: {
      admitting: () => undefined,
      fenced: (why) => told.push(why),
      broken: (error) => told.push(String(error)),
    },
    ...settings,
  })
  t.after(async () => {
    await ledger.close()
    await db.close()
  })
  return { ledger, db, url, told }
}

export async function openLedger(
  t: TestContext,
  fateOf: () => Fate,
  settings: Omit<Settings, 'fateOf'> = {},
) {
  server ??= startPostgres()
  const url = await (await server).migratedDatabase()
  const opened = await openLedgerOf(t, 'one', url, { fateOf, ...settings })
  return opened
}

export type Opened = Awaited<ReturnType<typeof openLedger>>

/** One whose account has a million nanos, and a request that is under way: `req-1`. */
export async function openHolding(
  t: TestContext,
  fateOf: () => Fate = () => 'pass',
  settings: Omit<Settings, 'fateOf'> = {},
): Promise<Opened> {
  const opened = await openLedger(t, fateOf, settings)
  await credit(opened, 1_000_000n)
  await hold(opened, 'req-1')
  return opened
}

export async function credit({ ledger }: Opened, amount: bigint, account = 'one'): Promise<Credited> {
  const id = `credit-${account}`
  const operation = { id, at, account, amount, source: 'credit' as const, reason: 'a test' }
  for (;;) {
    const answer = await new Promise<Credited | null>((resolve) =>
      ledger.add({ kind: 'credit', operation, answer: resolve, isGivenUp: false }),
    )
    if (answer !== null) return answer
    await delay(20)
  }
}

export function hold(
  { ledger }: Opened,
  id: string,
  account = 'one',
): Promise<Parameters<HoldWork['answer']>[0]> {
  const who = { id, at, account, key: account === 'one' ? 'key' : `key-${account}`, model: 'm' }
  const operation = { ...stream, ...who, modelTokens: 100, caps: noCaps, dayEnd, monthEnd: dayEnd }
  return new Promise((answer) => ledger.add({ kind: 'hold', operation, answer, isGivenUp: false }))
}

export function settle({ ledger }: Opened, id: string, tokens: number): Promise<bigint> {
  const ask = { id, usage: usageOf(0, tokens), cause: 'provider' as const, servedModel: null, outcome }
  const more = { kept: null, otherPrice: undefined, at, caps: noCaps, isKept: false }
  return new Promise((answer) => ledger.add({ kind: 'settle', ask, answer, ...more }))
}

export function expire({ ledger }: Opened, id: string): Promise<void> {
  const owners = [accountOwner('one'), keyOwner('key')]
  return new Promise((answer) =>
    ledger.add({ kind: 'expire', id, at, caps: noCaps, owners, isRetired: true, upstream: null, answer }),
  )
}

/** Goes on in another epoch, as a node does that finds its own to be over; resolves when it admits again. */
export async function rejoin({ ledger, db }: Opened): Promise<void> {
  await ledger.rejoin(await joinCluster(db, { id: 'one', name: 'one', version: '0' }))
  await untilAdmitting(ledger)
}

export async function untilAdmitting(ledger: SharedLedger): Promise<void> {
  while (!ledger.admitting) await delay(5)
}

/** Somebody who works on the database by hand. */
export async function openOperator(t: TestContext, { url }: Opened): Promise<Client> {
  const client = await openClient({ url, name: 'operator', statementMs: 20_000 })
  t.after(() => client.end())
  return client
}

export function verdictOf(url: string): Promise<LedgerVerdict> {
  return openSnapshots(url).look(verifyCluster)
}

/** Waits until the database says so of one of its connections. */
export async function untilSome(db: Db, condition: string): Promise<void> {
  const sql = `select 1 from pg_stat_activity where ${condition}`
  while ((await db.all({ sql, parameters: [] })).length === 0) await delay(10)
}
