/** Settings of backups that the running relay makes: where they lie, how often, how many. */
import { join } from 'node:path'
import { duration, wholeNumber, type Environment, type Setting } from '../lib/setting-types.ts'

export const backupsFolder = 'backups'

export const backupSettings = {
  backupDir: {
    env: 'BACKUP_DIR',
    group: 'Data',
    doc: 'Where the backups lie that the console, the administration and `BACKUP_EVERY` make. Better on another disk than `DATA_DIR`; the nodes of a cluster need one folder that all of them see.',
    allowed: 'a folder',
    standard: '`backups` in `DATA_DIR`',
    read: (text: string | undefined, environment: Environment): string =>
      text ?? join(environment['DATA_DIR'] ?? './data', backupsFolder),
  },
  backupEveryMs: {
    env: 'BACKUP_EVERY',
    group: 'Data',
    doc: 'A backup is made by itself this long after the newest one, such as `1d`. `0s`: none is. Of the nodes of a cluster one makes them, so give it to all. Operators get a notice of one that fails.',
    ...duration('0s', 0, 366 * 86_400_000),
  },
  backupsKept: {
    env: 'BACKUPS_KEPT',
    group: 'Data',
    doc: 'So many of the backups that were made by themselves are kept; the oldest are deleted. Those that somebody asked for stay.',
    ...wholeNumber(7, 1, 10_000),
  },
} as const satisfies Record<string, Setting<unknown>>
