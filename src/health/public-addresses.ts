/** Our own public addresses, as they look from the relay itself: asked for `/healthz` on a schedule. */
import type { Db } from '../db/db.ts'
import { sql, type PublicAddressesTable } from '../db/schema/schema.ts'
import { errorCode } from '../lib/error-message.ts'

export interface PublicAddress {
  readonly url: string
  /** null: not looked at yet. */
  readonly isWell: boolean | null
  /** Looks in a row that failed. */
  readonly failures: number
  /** Since when it is as it is. */
  readonly since: number | null
  readonly checkedAt: number | null
  readonly durationMs: number | null
  /** A status or the name of an error, the same in every language. */
  readonly problem: string | null
}

const patienceMs = 10_000
const mostBytes = 4096

interface Look {
  readonly problem: string | null
  readonly durationMs: number
}

/** One look; redirects are not followed, for callers' clients would not either. */
export async function lookAt(url: string): Promise<Look> {
  const started = performance.now()
  const durationMs = (): number => Math.round(performance.now() - started)
  try {
    const { request } = await import('undici')
    const signal = AbortSignal.timeout(patienceMs)
    const { statusCode, body } = await request(`${url}/healthz`, { signal })
    if (statusCode !== 200) {
      await body.dump({ limit: mostBytes })
      return { problem: `HTTP ${statusCode}`, durationMs: durationMs() }
    }
    const isOurs = await isRelay(body)
    return { problem: isOurs ? null : 'HTTP 200, another content', durationMs: durationMs() }
  } catch (error) {
    return { problem: nameOf(error), durationMs: durationMs() }
  }
}

/** Some other page may answer there: a parked domain, a portal. */
async function isRelay(body: AsyncIterable<Buffer>): Promise<boolean> {
  let size = 0
  const parts: Buffer[] = []
  for await (const part of body) {
    parts.push(part)
    size += part.length
    if (size > mostBytes) return false
  }
  return Buffer.concat(parts).toString().trim() === '{"status":"ok"}'
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error'
  return errorCode(error) ?? error.name
}

/** Of the addresses that are set, in their order. */
export async function publicAddresses(db: Db, urls: readonly string[]): Promise<PublicAddress[]> {
  if (urls.length === 0) return []
  const rows = await db.all(sql.selectFrom('public_addresses').selectAll().where('url', 'in', urls))
  return urls.map((url) => {
    const row = rows.find((each) => each.url === url)
    return {
      url,
      isWell: row === undefined ? null : row.is_well === 1,
      failures: row?.failures ?? 0,
      since: row?.since ?? null,
      checkedAt: row?.checked_at ?? null,
      durationMs: row?.duration_ms ?? null,
      problem: row?.problem ?? null,
    }
  })
}

/** Writes down what a look has shown, and tells the address as it is now. */
export async function noteLook(
  db: Db,
  before: PublicAddress,
  { problem, durationMs }: Look,
): Promise<PublicAddress> {
  const now = Date.now()
  const isWell = problem === null
  const since = before.isWell === isWell && before.since !== null ? before.since : now
  const failures = isWell ? 0 : before.failures + 1
  const row: PublicAddressesTable = {
    url: before.url,
    is_well: isWell ? 1 : 0,
    failures,
    since,
    checked_at: now,
    duration_ms: durationMs,
    problem,
  }
  const insertion = sql.insertInto('public_addresses').values(row)
  await db.write(insertion.onConflict((conflict) => conflict.column('url').doUpdateSet(row)))
  return { url: before.url, isWell, failures, since, checkedAt: now, durationMs, problem }
}
