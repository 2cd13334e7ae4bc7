/** Settings for stored data: encryption, backups, retention, and the lease of requests counted in Redis. */
import { join } from 'node:path'
import {
  duration,
  integer,
  InvalidSettingError,
  secret,
  type Environment,
  type Setting,
} from '../lib/setting-types.ts'

export const backupsFolder = 'backups'

export const backupSettings = {
  backupDir: {
    env: 'BACKUP_DIR',
    group: 'Data',
    doc: 'The folder of backups made by the console, the admin API and `BACKUP_EVERY`. Use another disk than that of `DATA_DIR`. The nodes of a cluster need a shared folder.',
    allowed: 'a folder',
    defaultText: '`backups` in `DATA_DIR`',
    read: (text: string | undefined, environment: Environment): string =>
      text ?? join(environment['DATA_DIR'] ?? './data', backupsFolder),
  },
  backupEveryMs: {
    env: 'BACKUP_EVERY',
    group: 'Data',
    doc: 'The interval of automatic backups, such as `1d`, counted from the newest backup. `0s`: no automatic backups. Set it on all nodes of a cluster; one of them makes the backup. Operators are notified of failures.',
    ...duration('0s', 0, 366 * 86_400_000),
  },
  backupsKept: {
    env: 'BACKUPS_KEPT',
    group: 'Data',
    doc: 'How many automatic backups are kept; older ones are deleted. Manual backups are never deleted.',
    ...integer(7, 1, 10_000),
  },
} as const satisfies Record<string, Setting<unknown>>

const dayMs = 86_400_000
const days = duration('0s', 0, 36_500 * dayMs)

export const retentionSettings = {
  requestsKeptMs: {
    env: 'REQUEST_RETENTION',
    group: 'Data',
    doc: 'How long the records of individual requests are kept, such as `90d`; older ones are deleted in the background. Balances, the ledger, charges and aggregated statistics stay. `0s`: forever.',
    allowed: '`0s`, or a duration of at least a day such as `90d`',
    defaultText: days.defaultText,
    format: days.format,
    read(text: string | undefined): number {
      const keptMs = days.read(text)
      if (keptMs > 0 && keptMs < dayMs) throw new InvalidSettingError()
      return keptMs
    },
  },
} as const satisfies Record<string, Setting<unknown>>

export const slotSettings = {
  slotLeaseMs: {
    env: 'SLOT_LEASE',
    group: 'Data',
    doc: 'How long the active requests of a killed node, if it is neither restarted nor retired, still count against concurrency limits in Redis. Nodes renew the lease of an active request three times within it.',
    ...duration('30s', 1000, 3_600_000),
  },
} as const satisfies Record<string, Setting<unknown>>

export const encryptionSettings = {
  encryptionKey: {
    env: 'ENCRYPTION_KEY',
    group: 'Data',
    doc: 'Encrypts the key that encrypts upstream credentials. Without it, the first start creates a key file in `DATA_DIR`, or, in a cluster, stores the key in the database next to the credentials. Back up whichever key you use, apart from the data.',
    ...secret,
    read(text: string | undefined): string | null {
      if (text === undefined) return null
      if (text.length < 16) throw new InvalidSettingError()
      return text
    },
    allowed: 'at least 16 characters',
  },
  encryptionKeyPrevious: {
    env: 'ENCRYPTION_KEY_PREVIOUS',
    group: 'Data',
    doc: 'The old `ENCRYPTION_KEY`, needed during a rotation until `sluice rotate-key` says that it can be removed.',
    ...secret,
    allowed: 'the previous value, together with a new `ENCRYPTION_KEY`',
    read(text: string | undefined, environment: Environment): string | null {
      const hasNew = [environment['ENCRYPTION_KEY'], environment['ENCRYPTION_KEY_FILE']].some(Boolean)
      if (text !== undefined && !hasNew) throw new InvalidSettingError('set ENCRYPTION_KEY to the new key')
      return text ?? null
    },
  },
} as const satisfies Record<string, Setting<unknown>>
