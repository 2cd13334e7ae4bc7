/** A node of a cluster that starts before its database waits for it, with its port open. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { isCutOff } from '../db/postgres/errors.ts'
import type { Log } from '../lib/log.ts'
import { openWaitingRoom, type WaitingRoom } from './waiting-room.ts'

const retryMs = 300

/** Resolves when the database can be had. Throws what waiting does not help: a wrong password, no such database. */
export async function waitForDatabase(config: Config, log: Log): Promise<void> {
  const { databaseUrl: url } = config
  if (url === null) return
  const { openClient } = await import('../db/postgres/connect.ts')
  let room: WaitingRoom | null = null
  try {
    for (;;) {
      try {
        const client = await openClient({ url, name: 'sluice start', statementMs: 3000 })
        await client.end()
        return
      } catch (error) {
        if (!isCutOff(error)) throw error
        if (room === null) {
          const why = error instanceof Error ? error.message : String(error)
          log.warn({ why }, 'the database is not there yet: everything is 503')
          room = await openWaitingRoom(config)
        }
        await delay(retryMs)
      }
    }
  } finally {
    await room?.close()
  }
}
