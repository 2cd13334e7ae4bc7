/** Makes a backup when the newest is older than the interval, and deletes scheduled backups that exceed the number to keep. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { errorMessage } from '../lib/error-message.ts'
import type { Log } from '../lib/log.ts'
import { operatorAudience } from '../notifications/notification-kinds.ts'
import { raiseNotification } from '../notifications/notifications.ts'
import type { BackupRunner } from '../backup/backup-runner.ts'

export interface BackupScheduleDeps {
  readonly backups: BackupRunner
  readonly config: Config
  readonly db: Db
  readonly log: Log
}

const by = 'schedule'
const checkEveryMs = 60_000
/** After how long a failed backup is retried. */
const retryMs = 3_600_000

export class BackupSchedule {
  readonly #deps: BackupScheduleDeps
  readonly #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | null = null
  #failedAt = -Infinity
  #isClosed = false

  constructor(deps: BackupScheduleDeps) {
    this.#deps = deps
    const { backupEveryMs } = deps.config
    if (backupEveryMs === 0) return
    this.#timer = setInterval(() => this.#check(), Math.min(checkEveryMs, backupEveryMs))
    this.#timer.unref()
  }

  /** Waits for a running backup. If it is aborted from now on, that is not a failure. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#checking
  }

  #check(): void {
    this.#checking ??= this.#backUpIfDue()
      .catch((error: unknown) => this.#onFailure(errorMessage(error)))
      .finally(() => (this.#checking = null))
  }

  async #backUpIfDue(): Promise<void> {
    const { backups, log, config } = this.#deps
    const { backupEveryMs } = config
    const now = Date.now()
    if (backups.isBusy || now - this.#failedAt < Math.min(retryMs, backupEveryMs)) return
    const made = (await backups.list()).filter(({ content }) => content !== null)
    if (this.#isClosed || now - (made[0]?.madeAt ?? -Infinity) < backupEveryMs) return
    const { id } = await backups.make(by)
    const ended = await backups.whenFinished()
    if (ended?.state === 'failed') return this.#onFailure(ended.problem ?? '')
    log.info({ backup: id }, 'backup completed')
    await this.#prune()
  }

  async #prune(): Promise<void> {
    const { backups, config } = this.#deps
    const own = (await backups.list()).filter((backup) => backup.by === by && backup.content !== null)
    for (const { id } of own.slice(config.backupsKept)) await backups.remove(id)
  }

  async #onFailure(problem: string): Promise<void> {
    const { log, db } = this.#deps
    if (this.#isClosed) return
    this.#failedAt = Date.now()
    log.error({ problem }, 'backup failed')
    await raiseNotification(db, {
      audience: operatorAudience,
      kind: 'backup',
      severity: 'warning',
      subject: 'backup',
      period: new Date().toISOString().slice(0, 10),
      code: 'backup_failed',
      params: { problem },
    }).catch((error: unknown) => log.error({ err: error }, 'backup failure notification failed'))
  }
}
