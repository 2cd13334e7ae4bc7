/** Makes a backup when the newest is older than the interval, and deletes scheduled backups that exceed the number to keep. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { errorMessage } from '../lib/error-message.ts'
import type { Log } from '../lib/log.ts'
import { operatorAudience } from '../notifications/notification-kinds.ts'
import { raiseNotification } from '../notifications/notifications.ts'
import { PeriodicJob } from './periodic-job.ts'
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

export class BackupSchedule extends PeriodicJob {
  readonly #deps: BackupScheduleDeps
  #failedAt = -Infinity

  constructor(deps: BackupScheduleDeps) {
    super(Math.min(checkEveryMs, deps.config.backupEveryMs))
    this.#deps = deps
  }

  protected onError(error: unknown): Promise<void> {
    return this.#onFailure(errorMessage(error))
  }

  protected async run(): Promise<void> {
    const { backups, log, config } = this.#deps
    const { backupEveryMs } = config
    const now = Date.now()
    if (now - this.#failedAt < Math.min(retryMs, backupEveryMs) || (await backups.isBusy())) return
    const made = (await backups.list()).filter(({ content }) => content !== null)
    if (this.isClosed || now - (made[0]?.madeAt ?? -Infinity) < backupEveryMs) return
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
    if (this.isClosed) return
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
