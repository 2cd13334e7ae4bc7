/**
 * The local journal of a cluster node on its own disk: its identity, the progress of its running streams, and the
 * settlements that the database has not accepted yet. It is small and written by its own thread: records that arrive
 * during one write are committed together by the next, in one transaction with one sync.
 */

import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { openThread } from '../../rpc/thread.ts'
import type {
  LocalJournalContents,
  LocalJournalRecord,
  LocalJournalServices,
} from './local-journal-thread.ts'
import { storeErrors } from './port-db.ts'

export const localJournalFileName = 'node.db'

export interface LocalJournal {
  readonly contents: LocalJournalContents
  /** Resolves when the record is on disk. Rejects with StoreError. */
  write(record: LocalJournalRecord): Promise<void>
  /** Writes the record without waiting. */
  append(record: LocalJournalRecord): void
  close(): Promise<void>
}

/** Records that are written together. */
interface Batch {
  readonly records: LocalJournalRecord[]
  readonly written: Promise<void>
}

/** Opens or creates the journal of a data directory; the caller must hold its lock. */
export async function openLocalJournal(dataDir: string): Promise<LocalJournal> {
  const module = new URL('./local-journal-thread.ts', import.meta.url)
  const { channel, ended } = openThread<LocalJournalServices>(module, { errors: storeErrors })
  const journal = channel.proxy('journal')
  const contents = await journal.open(join(dataDir, localJournalFileName))
  let next: Batch | null = null
  let lastWritten: Promise<unknown> = Promise.resolve()

  function startBatch(): Batch {
    const records: LocalJournalRecord[] = []
    const written = Promise.all([lastWritten, turn()]).then(() => {
      next = null
      return journal.write(records)
    })
    lastWritten = written.catch(() => undefined)
    return { records, written }
  }

  function write(record: LocalJournalRecord): Promise<void> {
    next ??= startBatch()
    next.records.push(record)
    return next.written
  }

  return {
    contents,
    write,
    append: (record) => void write(record).catch(() => undefined),
    async close() {
      let awaited: Promise<unknown>
      do await (awaited = lastWritten)
      while (awaited !== lastWritten)
      channel.send('journal', 'close')
      await ended
    },
  }
}
