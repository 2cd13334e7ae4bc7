/** Monitors the deployment's public addresses: requests `/healthz` of each on a schedule. */
import type { Db } from '../db/db.ts'
import { sql, type PublicAddressesTable } from '../db/schema/schema.ts'
import { errorCode } from '../lib/error-message.ts'

export interface PublicAddress {
  readonly url: string
  /** null: not checked yet. */
  readonly isHealthy: boolean | null
  /** Consecutive failed checks. */
  readonly failures: number
  /** When it entered this state. */
  readonly since: number | null
  readonly checkedAt: number | null
  readonly durationMs: number | null
  /** A status or the name of an error, which is not translated. */
  readonly problem: string | null
}

const checkTimeoutMs = 10_000
const maxBodyBytes = 4096

interface AddressCheck {
  readonly problem: string | null
  readonly durationMs: number
}

/** Checks an address. Does not follow redirects, since most API clients do not either. */
export async function checkAddress(url: string): Promise<AddressCheck> {
  const started = performance.now()
  const durationMs = (): number => Math.round(performance.now() - started)
  try {
    const { request } = await import('undici')
    const signal = AbortSignal.timeout(checkTimeoutMs)
    const { statusCode, body } = await request(`${url}/healthz`, { signal })
    if (statusCode !== 200) {
      await body.dump({ limit: maxBodyBytes })
      return { problem: `HTTP ${statusCode}`, durationMs: durationMs() }
    }
    const isOurs = await isSluiceResponse(body)
    return { problem: isOurs ? null : 'HTTP 200, unexpected content', durationMs: durationMs() }
  } catch (error) {
    return { problem: errorName(error), durationMs: durationMs() }
  }
}

/** Another page may respond, such as a parked domain or a captive portal. */
async function isSluiceResponse(body: AsyncIterable<Buffer>): Promise<boolean> {
  let size = 0
  const chunks: Buffer[] = []
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > maxBodyBytes) return false
  }
  return Buffer.concat(chunks).toString().trim() === '{"status":"ok"}'
}

function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'error'
  return errorCode(error) ?? error.name
}

/** The configured addresses, in their order. */
export async function listPublicAddresses(db: Db, urls: readonly string[]): Promise<PublicAddress[]> {
  if (urls.length === 0) return []
  const rows = await db.all(sql.selectFrom('public_addresses').selectAll().where('url', 'in', urls))
  return urls.map((url) => {
    const row = rows.find((each) => each.url === url)
    return {
      url,
      isHealthy: row === undefined ? null : row.is_well === 1,
      failures: row?.failures ?? 0,
      since: row?.since ?? null,
      checkedAt: row?.checked_at ?? null,
      durationMs: row?.duration_ms ?? null,
      problem: row?.problem ?? null,
    }
  })
}

/** Records a check and returns the new state of the address. */
export async function recordAddressCheck(
  db: Db,
  before: PublicAddress,
  { problem, durationMs }: AddressCheck,
): Promise<PublicAddress> {
  const now = Date.now()
  const isHealthy = problem === null
  const since = before.isHealthy === isHealthy && before.since !== null ? before.since : now
  const failures = isHealthy ? 0 : before.failures + 1
  const row: PublicAddressesTable = {
    url: before.url,
    is_well: isHealthy ? 1 : 0,
    failures,
    since,
    checked_at: now,
    duration_ms: durationMs,
    problem,
  }
  const insertion = sql.insertInto('public_addresses').values(row)
  await db.write(insertion.onConflict((conflict) => conflict.column('url').doUpdateSet(row)))
  return { url: before.url, isHealthy, failures, since, checkedAt: now, durationMs, problem }
}
