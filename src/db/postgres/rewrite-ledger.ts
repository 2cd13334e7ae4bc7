import type { Client } from 'pg'
import { statementDb } from '../db.ts'
import { appendOnlyTriggers, createRewriter, type LedgerRewriter } from '../ledger-rewriter.ts'
import { tryMigrationLock, writeLock } from './advisory-locks.ts'
import { openClient, queryValue, runStatement } from './connection.ts'
import { formatArray } from './sql-text.ts'
import { findRunningNode } from './nodes.ts'

const timeoutMs = 600_000

const encodeHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function rewriterOn(client: Client): LedgerRewriter {
  const db = statementDb((statement) => runStatement(client, statement))
  // One statement for all hashes: there may be millions.
  return createRewriter(db, (commits) =>
    db.write({
      sql: `update journal set prev = decode(changed.prev, 'hex'), hash = decode(changed.hash, 'hex')
      from unnest(?::bigint[], ?::text[], ?::text[]) as changed (seq, prev, hash) where journal.seq = changed.seq`,
      parameters: [
        formatArray(commits.map(({ seq }) => String(seq))),
        formatArray(commits.map(({ prev }) => encodeHex(prev))),
        formatArray(commits.map(({ hash }) => encodeHex(hash))),
      ],
    }),
  )
}

const setTriggers = (to: 'enable' | 'disable'): string =>
  appendOnlyTriggers.map(({ table, trigger }) => `alter table ${table} ${to} trigger ${trigger}`).join(';')

/** The database is in use. */
export class DatabaseInUseError extends Error {}

/** Begins a transaction during which no node can join, and no move can begin. */
async function beginExclusive(client: Client): Promise<void> {
  if ((await queryValue(client, tryMigrationLock)) !== 'true')
    throw new DatabaseInUseError('Another process migrates this PostgreSQL database, or moves data.')
  await client.query(`begin; ${writeLock}`)
  const running = await findRunningNode(client)
  if (running !== undefined) throw new DatabaseInUseError(running)
}

/** Commits if `work` resolves, and changes nothing if it rejects. Throws DatabaseInUseError if a node is running. */
export async function rewritePostgresLedger<Result>(
  url: string,
  work: (rewriter: LedgerRewriter) => Promise<Result>,
): Promise<Result> {
  const client = await openClient({
    url,
    name: 'sluice repair',
    statementMs: timeoutMs,
    idleInTransactionMs: timeoutMs,
  })
  try {
    await beginExclusive(client)
    await client.query(setTriggers('disable'))
    const result = await work(rewriterOn(client))
    await client.query(`${setTriggers('enable')}; commit`)
    return result
  } finally {
    // Rolls an open transaction back.
    await client.end().catch(() => undefined)
  }
}
