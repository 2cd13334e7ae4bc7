import type { Client } from 'pg'
import { compileQuery, type Db, type Query } from '../db.ts'
import { appendOnlyTriggers, type LedgerRewriter, type RewrittenCommit } from '../ledger-rewriter.ts'
import { tryMigrationLock, writeLock } from './advisory-locks.ts'
import { openClient, runScript, runStatement } from './connection.ts'
import { formatArray } from './sql-text.ts'
import { findRunningNode } from './stopped-nodes.ts'

const timeoutMs = 600_000

function transactionDb(client: Client): Db {
  const rowsOf = async <Result>(query: Query<Result>): Promise<Result[]> =>
    // The schema and the integer rule of connection.ts guarantee the query's type.
    (await runStatement(client, compileQuery(query))).rows as Result[]
  return {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    async write(...queries) {
      const results = []
      for (const query of queries) results.push(await runStatement(client, compileQuery(query)))
      return results
    },
  }
}

const encodeHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** One statement for all hashes: there may be millions. */
async function updateHashes(client: Client, commits: readonly RewrittenCommit[]): Promise<void> {
  await runStatement(client, {
    sql: `update journal set prev = decode(changed.prev, 'hex'), hash = decode(changed.hash, 'hex')
      from unnest(?::bigint[], ?::text[], ?::text[]) as changed (seq, prev, hash) where journal.seq = changed.seq`,
    parameters: [
      formatArray(commits.map(({ seq }) => String(seq))),
      formatArray(commits.map(({ prev }) => encodeHex(prev))),
      formatArray(commits.map(({ hash }) => encodeHex(hash))),
    ],
  })
}

function rewriterOn(client: Client): LedgerRewriter {
  return {
    db: transactionDb(client),
    async updateCommits(commits) {
      await updateHashes(client, commits)
      for (const { seq, body } of commits) {
        if (body === null) continue
        await runStatement(client, {
          sql: 'update journal set body = ? where seq = ?',
          parameters: [body, seq],
        })
      }
    },
    async updateEntry({ id, ref, reason }) {
      await runStatement(client, {
        sql: 'update entries set ref = ?, reason = ? where id = ?',
        parameters: [ref, reason, id],
      })
    },
  }
}

const setTriggers = (to: 'enable' | 'disable'): string =>
  appendOnlyTriggers.map(({ table, trigger }) => `alter table ${table} ${to} trigger ${trigger}`).join(';')

/** The database is in use. */
export class DatabaseInUseError extends Error {}

/** Begins a transaction during which no node can join, and no move can begin. */
async function beginExclusive(client: Client): Promise<void> {
  const [[row] = []] = await runScript(client, tryMigrationLock)
  if (String(row?.['pg_try_advisory_lock']) !== 'true')
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
