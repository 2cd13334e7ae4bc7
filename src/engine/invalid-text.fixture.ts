/** Writes text into a ledger that is not valid, as earlier releases did. */
import { join } from 'node:path'
import { chainGenesis, chainHash } from '../db/journal.ts'
import type { LedgerRewriter, RewrittenCommit } from '../db/ledger-rewriter.ts'
import { rewritePostgresLedger } from '../db/postgres/rewrite-ledger.ts'
import { sql } from '../db/schema/schema.ts'
import { rewriteSqliteLedger } from '../db/sqlite/rewrite-ledger.ts'
import { databaseFileName } from '../db/sqlite/store.ts'
import { toValidText } from '../lib/valid-text.ts'
import { readJournalNodes } from './verification/postgres-source.ts'

interface Commit {
  readonly seq: number
  readonly body: string
}

function readChain({ db }: LedgerRewriter, node: string | null): Promise<Commit[]> {
  const ofNode = node === null ? '' : `where node = ? collate "C"`
  const text = `select seq, body from journal ${ofNode} order by seq`
  return db.all({ sql: text, parameters: node === null ? [] : [node] })
}

function replaceInCells(body: string, placeholder: string, text: string): string {
  const events = JSON.parse(body) as unknown[][]
  return JSON.stringify(
    events.map((cells) =>
      cells.map((cell) => (typeof cell === 'string' ? cell.replaceAll(placeholder, text) : cell)),
    ),
  )
}

/** Replaces `placeholder` in all texts: by an escape in the journal, and as the store keeps it in the entries. */
async function replaceText(
  rewriter: LedgerRewriter,
  chains: readonly (string | null)[],
  [placeholder, text]: readonly [string, string],
): Promise<void> {
  for (const node of chains) {
    let prev = chainGenesis
    const rewritten: RewrittenCommit[] = []
    for (const { seq, body } of await readChain(rewriter, node)) {
      const replaced = replaceInCells(body, placeholder, text)
      const hash = chainHash(prev, replaced)
      rewritten.push({ seq, body: replaced, prev, hash })
      prev = hash
    }
    await rewriter.updateCommits(rewritten)
  }
  const stored = chains[0] === null ? text : toValidText(text)
  for (const { id, ref, reason } of await rewriter.db.all(sql.selectFrom('entries').selectAll())) {
    const replaced = [ref, reason].map((cell) => cell?.replaceAll(placeholder, stored) ?? null)
    await rewriter.updateEntry({ id, ref: replaced[0] ?? null, reason: replaced[1] ?? null })
  }
}

/** `texts`: each placeholder in the ledger and what replaces it. No relay may be running. */
export async function writeInvalidText(
  { dataDir, databaseUrl }: { readonly dataDir: string; readonly databaseUrl?: string | undefined },
  texts: Readonly<Record<string, string>>,
): Promise<void> {
  async function replaceAll(rewriter: LedgerRewriter, chains: readonly (string | null)[]): Promise<void> {
    for (const entry of Object.entries(texts)) await replaceText(rewriter, chains, entry)
  }
  if (databaseUrl === undefined)
    return rewriteSqliteLedger(join(dataDir, databaseFileName), (rewriter) => replaceAll(rewriter, [null]))
  return rewritePostgresLedger(databaseUrl, async (rewriter) =>
    replaceAll(rewriter, await readJournalNodes(rewriter.db)),
  )
}
