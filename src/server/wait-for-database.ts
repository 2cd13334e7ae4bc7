/** A node of a cluster that starts before its database waits for it, with its port open. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { mayPass } from '../db/postgres/errors.ts'
import { errorWords } from '../lib/error-message.ts'
import type { Log } from '../lib/log.ts'
import { openWaitingRoom, type WaitingRoom } from './startup-listener.ts'

const retryMs = 300

/** Resolves when the database can be had. Throws what waiting does not help: a wrong password, no such database, a certificate that is not trusted. */
export async function waitForDatabase(config: Config, log: Log): Promise<void> {
  const { databaseUrl: url } = config
  if (url === null) return
  const { openClient } = await import('../db/postgres/connection.ts')
  let room: WaitingRoom | null = null
  let told = ''
  try {
    for (;;) {
      try {
        const client = await openClient({ url, name: 'sluice start', statementMs: 3000 })
        await client.end()
        return
      } catch (error) {
        if (!mayPass(error)) throw error
        const why = errorWords(error)
        if (why !== told) log.warn({ why }, 'the database is not there yet: everything is 503')
        told = why
        room ??= await openWaitingRoom(config)
        await delay(retryMs)
      }
    }
  } finally {
    await room?.close()
  }
}
