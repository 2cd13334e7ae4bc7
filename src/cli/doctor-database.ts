/** What the doctor makes of a cluster's PostgreSQL: whether it is there, new enough, and keeps what it has acknowledged. */

import type { Row } from '../db/messages.ts'
import { openClient, runTexts } from '../db/postgres/connect.ts'
import { fail, ok, warn, type Finding } from './findings.ts'

const leastRelease = 13

async function settingsOf(url: string): Promise<Row | undefined> {
  const client = await openClient({ url, name: 'sluice doctor', statementMs: 3000 })
  try {
    const [rows = []] = await runTexts(
      client,
      `select current_setting('server_version_num')::int / 10000 as release, current_setting('fsync') as fsync,
        current_setting('full_page_writes') as pages`,
    )
    return rows[0]
  } finally {
    await client.end()
  }
}

export async function checkPostgres(url: string): Promise<Finding> {
  const name = 'database'
  const { host } = new URL(url)
  try {
    const settings = await settingsOf(url)
    const release = Number(settings?.['release'])
    if (release < leastRelease)
      return fail(name, `PostgreSQL ${release} at ${host}`, `${leastRelease} or newer is needed.`)
    if (settings?.['fsync'] !== 'on' || settings['pages'] !== 'on') {
      const advice =
        'Turn fsync and full_page_writes on: without them a power cut loses or breaks what was acknowledged.'
      return warn(name, `PostgreSQL ${release} at ${host} does not keep what it acknowledges`, advice)
    }
    return ok(name, `PostgreSQL ${release} at ${host} answers`)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return fail(
      name,
      `PostgreSQL at ${host} cannot be had: ${why}`,
      'See DATABASE_URL in docs/configuration.md.',
    )
  }
}
