/**
 * A cluster node that starts before its database waits for it, with its port open. Otherwise the port is closed until the
 * relay is ready, so that a load balancer without active checks uses other nodes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { isTransient } from '../db/postgres/errors.ts'
import { errorMessage } from '../lib/error-message.ts'
import type { Log } from '../lib/log.ts'
import { openStartupListener, type StartupListener } from './startup-listener.ts'

const retryMs = 300

/**
 * Resolves when the database is available, with whether that took time. Throws permanent errors: a wrong password, a
 * missing database, an untrusted certificate.
 */
export async function waitForDatabase(config: Config, log: Log): Promise<boolean> {
  const { databaseUrl: url } = config
  if (url === null) return false
  const { openClient } = await import('../db/postgres/connection.ts')
  let listener: StartupListener | null = null
  let lastWhy = ''
  try {
    for (;;) {
      try {
        const client = await openClient({ url, name: 'sluice start', statementMs: 3000 })
        await client.end()
        return listener !== null
      } catch (error) {
        if (!isTransient(error)) throw error
        const why = errorMessage(error)
        if (why !== lastWhy) log.warn({ why }, 'waiting for database')
        lastWhy = why
        listener ??= await openStartupListener(config)
        await delay(retryMs)
      }
    }
  } finally {
    await listener?.close()
  }
}
