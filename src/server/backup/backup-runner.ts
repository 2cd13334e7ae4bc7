/**
 * The backups that a running relay makes: asked for by operators or made by themselves, one piece of work at a time, on
 * a thread of its own. The list is what lies in the folder, and beside it what is under way or has just failed.
 */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Config } from '../../config.ts'
import type { FileLock } from '../../db/sqlite/file-lock.ts'
import { refuse } from '../../errors.ts'
import type { Backup, Backups, Takeaway } from '../../db/backups.ts'
import type { Step } from './backup-folder.ts'
import { copyOf, draftOf, removeDraft } from './make-backup.ts'
import { backupsIn, lockShelf, noteChecked, removeFrom, sweep, takeawayOf } from './backup-store.ts'
import type { Work } from './work-thread.ts'
import { errorWords } from '../../lib/error-message.ts'

interface Running {
  readonly worker: Worker
  readonly done: Promise<Backup>
}

/** A thread that ends by itself is done, with or without a problem. */
interface Ending {
  readonly isDone: boolean
  readonly problem: string | null
}

function timeIn(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replaceAll(':', '-')
}

export class BackupWork implements Backups {
  readonly #config: Config
  readonly #now: () => number
  /** What is under way, or has failed and is not on the disk. */
  #current: Backup | null = null
  #running: Running | null = null

  constructor(config: Config, now: () => number = Date.now) {
    this.#config = config
    this.#now = now
  }

  list(): Promise<readonly Backup[]> {
    const found = backupsIn(this.#config.backupDir)
    const current = this.#current
    if (current === null) return Promise.resolve(found)
    return Promise.resolve([current, ...found.filter(({ id }) => id !== current.id)])
  }

  make(by: string): Promise<Backup> {
    return Promise.resolve().then(() => this.#make(by))
  }

  check(id: string): Promise<Backup> {
    return Promise.resolve().then(() => this.#check(id))
  }

  async remove(id: string): Promise<void> {
    if (this.#current?.id !== id) return removeFrom(this.#config.backupDir, id)
    this.#checkIdle()
    const isMade = this.#current.content !== null
    this.#current = null
    if (isMade) removeFrom(this.#config.backupDir, id)
  }

  takeaway(id: string): Promise<Takeaway> {
    return Promise.resolve().then(() => takeawayOf(this.#config.backupDir, id))
  }

  /** Resolves with how what is under way has ended; null: nothing is. */
  async ended(): Promise<Backup | null> {
    return (await this.#running?.done) ?? null
  }

  /** A backup is being made or checked, here or, where nodes share the folder, by another. */
  get isBusy(): boolean {
    if (this.#running !== null) return true
    const lock = lockShelf(this.#config.backupDir)
    lock?.release()
    return lock === undefined
  }

  async close(): Promise<void> {
    const running = this.#running
    if (running === null) return
    await running.worker.terminate()
    await running.done
  }

  #checkIdle(): void {
    if (this.#running === null) return
    throw refuse('conflict', { message: 'A backup is being made or checked. Wait until it is done.' })
  }

  #make(by: string): Backup {
    this.#checkIdle()
    const { backupDir } = this.#config
    const madeAt = this.#now()
    const id = `backup-${timeIn(madeAt)}`
    const begun: Backup = {
      id,
      state: 'making',
      madeAt,
      by,
      content: null,
      checkedAt: null,
      problem: null,
      step: { doing: 'copying', percent: 0 },
    }
    let lock: FileLock | undefined
    try {
      copyOf(this.#config)
      lock = lockShelf(backupDir)
      if (lock === undefined) throw new Error('Another node is making a backup in the same folder.')
      sweep(backupDir)
      const draft = draftOf(join(backupDir, id))
      return this.#begin(begun, { draft, by }, lock)
    } catch (error) {
      lock?.release()
      throw refuse('conflict', { message: errorWords(error) })
    }
  }

  #check(id: string): Backup {
    this.#checkIdle()
    const found = backupsIn(this.#config.backupDir).find((backup) => backup.id === id)
    if (found === undefined) throw refuse('not_found', { message: 'There is no such backup.' })
    return this.#begin(
      { ...found, state: 'checking', step: { doing: 'comparing', percent: null } },
      null,
      null,
    )
  }

  #begin(begun: Backup, making: Work['making'], lock: FileLock | null): Backup {
    const folder = join(this.#config.backupDir, begun.id)
    const work: Work = { config: this.#config, folder, making }
    const worker = new Worker(new URL('./work-thread.ts', import.meta.url), { workerData: work })
    const { promise, resolve } = Promise.withResolvers<Ending>()
    worker.on('message', (step: Step) => {
      if (this.#current?.id === begun.id) this.#current = { ...this.#current, step }
    })
    worker.on('error', (error: unknown) => resolve({ isDone: true, problem: errorWords(error) }))
    worker.on('exit', (code) => resolve({ isDone: code === 0, problem: null }))
    const done = promise.then((ending) => {
      this.#running = null
      if (making !== null) removeDraft(making.draft)
      lock?.release()
      return this.#ended(begun, ending)
    })
    this.#current = begun
    this.#running = { worker, done }
    return begun
  }

  /** What is on the disk speaks for itself; only what failed has to be remembered. */
  #ended(begun: Backup, { isDone, problem }: Ending): Backup {
    const { backupDir } = this.#config
    this.#current = null
    if (begun.state === 'checking' && isDone)
      noteChecked(join(backupDir, begun.id), { at: this.#now(), problem })
    const made = backupsIn(backupDir).find(({ id }) => id === begun.id)
    if (made !== undefined) return made
    const why = problem ?? 'It was ended before it was done.'
    this.#current = { ...begun, state: 'failed', problem: why, step: null }
    return this.#current
  }
}
