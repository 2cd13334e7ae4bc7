/** Checks, before a command uses a cluster's PostgreSQL, that it is reachable and has Sluice's schema. */

import { runScriptOnce } from '../db/postgres/connection.ts'
import { errorMessage } from '../lib/error-message.ts'
import { CommandError, serverName, UsageError } from './output.ts'

/** Whether a relay has ever started on it. Throws if it is unreachable. */
export async function hasSchema(url: string): Promise<boolean> {
  const script = `select to_regclass('schema_version') is not null as there`
  const [row] = await runScriptOnce({ url, name: 'sluice command', statementMs: 3000 }, script)
  return String(row?.['there']) === 'true'
}

/** Throws a `CommandError` if it is unreachable, and a `UsageError` if it is empty. */
export async function checkSchema(url: string): Promise<void> {
  const server = serverName(url)
  const isThere = await hasSchema(url).catch((error: unknown) => {
    throw new CommandError(
      `${server} is unreachable (${errorMessage(error)}). Run sluice doctor for details.`,
    )
  })
  if (isThere) return
  throw new UsageError(
    `This database on ${server} (DATABASE_URL) has no Sluice data. Start the relay once to create it, or correct DATABASE_URL.`,
  )
}
