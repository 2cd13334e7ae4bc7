/** A cluster's PostgreSQL before a command works with it: whether it can be had, and whether there is a Sluice in it. */

import { openClient, runTexts } from '../db/postgres/connection.ts'
import { errorWords } from '../lib/error-message.ts'
import { CommandError, serverNameOf } from './output.ts'

/** Whether a relay has ever started on it. Throws where it cannot be had. */
export async function hasSluice(url: string): Promise<boolean> {
  const client = await openClient({ url, name: 'sluice command', statementMs: 3000 })
  try {
    const [rows = []] = await runTexts(client, `select to_regclass('schema_version') is not null as there`)
    return String(rows[0]?.['there']) === 'true'
  } finally {
    await client.end()
  }
}

/** Throws one that says what to do. `mayBeEmpty`: the command would make what is missing. */
export async function checkSluiceIn(url: string, mayBeEmpty: boolean): Promise<void> {
  const server = serverNameOf(url)
  const isThere = await hasSluice(url).catch((error: unknown) => {
    throw new CommandError(`${server} cannot be had (${errorWords(error)}). sluice doctor tells more.`)
  })
  if (isThere || mayBeEmpty) return
  throw new CommandError(
    `There is no Sluice in this database of ${server} (DATABASE_URL). Start the relay once, which makes it, or set DATABASE_URL.`,
  )
}
