/**
 * Makes and checks the backups of a running relay, for operators or by schedule, one at a time, on a thread of its own. It
 * lists the backups in the folder, and the one that is in progress or has just failed.
 */
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { ChannelClosedError } from '../rpc/channel.ts'
import { openThread } from '../rpc/thread.ts'
import type { Config } from '../config.ts'
import type { FileLock } from '../db/sqlite/file-lock.ts'
import { apiError, notFound } from '../errors.ts'
import type { Backup, BackupService, BackupDownload } from '../db/backups.ts'
import { copierFor, createDraft, removeDraft } from './make-backup.ts'
import {
  listBackups,
  lockBackupStore,
  writeCheckResult,
  removeBackup,
  removeUnfinished,
  backupDownload,
} from './backup-store.ts'
import type { BackupProgress, BackupTask, BackupThreadServices } from './backup-thread.ts'
import { errorMessage } from '../lib/error-message.ts'

interface RunningTask {
  readonly worker: Worker
  readonly done: Promise<Backup>
}

function timestampIn(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replaceAll(':', '-')
}

export class BackupRunner implements BackupService {
  readonly #config: Config
  readonly #now: () => number
  /** The backup that is in progress, or that failed and is not on the disk. */
  #current: Backup | null = null
  #running: RunningTask | null = null

  constructor(config: Config, now: () => number = Date.now) {
    this.#config = config
    this.#now = now
  }

  list(): Promise<readonly Backup[]> {
    const found = listBackups(this.#config.backupDir)
    const current = this.#current
    if (current === null) return Promise.resolve(found)
    return Promise.resolve([current, ...found.filter(({ id }) => id !== current.id)])
  }

  make(by: string): Promise<Backup> {
    return Promise.resolve().then(() => this.#startMaking(by))
  }

  check(id: string): Promise<Backup> {
    return Promise.resolve().then(() => this.#startChecking(id))
  }

  async remove(id: string): Promise<void> {
    if (this.#current?.id !== id) return removeBackup(this.#config.backupDir, id)
    this.#assertIdle()
    const isMade = this.#current.content !== null
    this.#current = null
    if (isMade) removeBackup(this.#config.backupDir, id)
  }

  download(id: string): Promise<BackupDownload> {
    return Promise.resolve().then(() => backupDownload(this.#config.backupDir, id))
  }

  /** Resolves with the result of the current task; null: there is none. */
  async whenFinished(): Promise<Backup | null> {
    return (await this.#running?.done) ?? null
  }

  /** A backup is being made or checked here, or made by another node that shares the folder. */
  get isBusy(): boolean {
    if (this.#running !== null) return true
    const lock = lockBackupStore(this.#config.backupDir)
    lock?.release()
    return lock === undefined
  }

  async close(): Promise<void> {
    const running = this.#running
    if (running === null) return
    await running.worker.terminate()
    await running.done
  }

  #assertIdle(): void {
    if (this.#running === null) return
    throw apiError('conflict', {
      message: 'Another backup is being made or checked. Wait until it has finished.',
    })
  }

  #startMaking(by: string): Backup {
    this.#assertIdle()
    const { backupDir } = this.#config
    const madeAt = this.#now()
    const id = `backup-${timestampIn(madeAt)}`
    const started: Backup = {
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
      copierFor(this.#config)
      lock = lockBackupStore(backupDir)
      if (lock === undefined) throw new Error('Another node is making a backup in the same folder.')
      removeUnfinished(backupDir)
      const draft = createDraft(join(backupDir, id))
      return this.#startThread(started, { draft, by }, lock)
    } catch (error) {
      lock?.release()
      throw apiError('conflict', { message: errorMessage(error) })
    }
  }

  #startChecking(id: string): Backup {
    this.#assertIdle()
    const found = listBackups(this.#config.backupDir).find((backup) => backup.id === id)
    if (found === undefined) throw notFound('Backup')
    return this.#startThread(
      { ...found, state: 'checking', step: { doing: 'comparing', percent: null } },
      null,
      null,
    )
  }

  #startThread(started: Backup, making: BackupTask['making'], lock: FileLock | null): Backup {
    const folder = join(this.#config.backupDir, started.id)
    const task: BackupTask = { config: this.#config, folder, making }
    const progress: BackupProgress['progress'] = {
      onStep: (step) => {
        if (this.#current?.id === started.id) this.#current = { ...this.#current, step }
      },
    }
    const { worker, channel } = openThread<BackupThreadServices>(
      new URL('./backup-thread.ts', import.meta.url),
      { services: { progress } },
    )
    const result = channel
      .proxy('backups')
      .run(task)
      .then(
        () => null,
        (error: unknown) => (error instanceof ChannelClosedError ? undefined : errorMessage(error)),
      )
    const done = result.then(async (problem) => {
      await worker.terminate()
      this.#running = null
      if (making !== null) removeDraft(making.draft)
      lock?.release()
      return this.#onFinished(started, problem)
    })
    this.#current = started
    this.#running = { worker, done }
    return started
  }

  /** The disk holds the state of a backup; only a failed one must be remembered. `problem`: undefined if it was aborted. */
  #onFinished(started: Backup, problem: string | null | undefined): Backup {
    const { backupDir } = this.#config
    this.#current = null
    if (started.state === 'checking' && problem !== undefined)
      writeCheckResult(join(backupDir, started.id), { at: this.#now(), problem })
    const made = listBackups(backupDir).find(({ id }) => id === started.id)
    if (made !== undefined) return made
    const why = problem ?? 'It was aborted.'
    this.#current = { ...started, state: 'failed', problem: why, step: null }
    return this.#current
  }
}
