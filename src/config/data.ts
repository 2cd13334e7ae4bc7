/** Settings for stored data: the store, encryption, retention and backups. */
import { join } from 'node:path'
import { isCurrency } from '../lib/currency.ts'
import {
  duration,
  inGroup,
  integer,
  InvalidSettingError,
  secret,
  serverUrl,
  string,
  type Environment,
} from '../lib/setting-types.ts'

export const backupsFolder = 'backups'

const dayMs = 86_400_000
const days = duration('0s', 0, 36_500 * dayMs)

export const dataSettings = inGroup('Data', {
  dataDir: {
    env: 'DATA_DIR',
    doc: 'The folder of the embedded database and its secrets. A node of a cluster stores there what it has not uploaded yet. Only one relay at a time can use it.',
    ...string('./data'),
    allowed: 'a folder',
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    doc: 'The PostgreSQL database (13 or newer) of a cluster, of which this relay becomes a node. By default, there is a single relay and all data is in `DATA_DIR`.',
    ...secret,
    allowed: 'a URL such as `postgres://user:password@host:5432/database`',
    read: (text: string | undefined): string | null => serverUrl(text, /^postgres(ql)?:\/\//),
  },
  redisUrl: {
    env: 'REDIS_URL',
    doc: 'The Redis or Valkey server that the nodes of a cluster use to share rate limits. Without it, or while it is unavailable, each node admits its share of every limit.',
    ...secret,
    allowed: 'a URL such as `redis://host:6379`, together with `DATABASE_URL`',
    read(text: string | undefined, environment: Environment): string | null {
      const url = serverUrl(text, /^rediss?:\/\//)
      const isAlone = (environment['DATABASE_URL'] ?? environment['DATABASE_URL_FILE'] ?? '') === ''
      if (url !== null && isAlone)
        throw new InvalidSettingError('without DATABASE_URL there is a single relay, which needs no Redis')
      return url
    },
  },
  currency: {
    env: 'CURRENCY',
    doc: 'The currency of all prices, balances and caps. The first start writes it to the database. It can never be changed: nothing is converted, and a start with another value is refused.',
    allowed: 'a code of ISO 4217 such as `USD`',
    defaultText: 'that of the database; `CNY` at the first start',
    read(text: string | undefined): string | null {
      if (text !== undefined && !isCurrency(text)) throw new InvalidSettingError()
      return text ?? null
    },
  },
  slotLeaseMs: {
    env: 'SLOT_LEASE',
    doc: 'How long the active requests of a killed node, if it is neither restarted nor retired, still count against concurrency limits in Redis. Nodes renew the lease of an active request three times within it.',
    ...duration('30s', 1000, 3_600_000),
  },
  nodeRetireAfterMs: {
    env: 'NODE_RETIRE_AFTER',
    doc: 'How long a node of a cluster may send no heartbeat until the others retire it: they end its requests, and release what these had held. It joins again by itself when it returns. All nodes need the same value; the default outlasts a pause or migration of a machine.',
    ...duration('30s', 5000, 86_400_000),
  },
  encryptionKey: {
    env: 'ENCRYPTION_KEY',
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
    doc: 'The old `ENCRYPTION_KEY`, needed during a rotation until `sluice rotate-key` says that it can be removed.',
    ...secret,
    allowed: 'the previous value, together with a new `ENCRYPTION_KEY`',
    read(text: string | undefined, environment: Environment): string | null {
      const hasNew = [environment['ENCRYPTION_KEY'], environment['ENCRYPTION_KEY_FILE']].some(Boolean)
      if (text !== undefined && !hasNew) throw new InvalidSettingError('set ENCRYPTION_KEY to the new key')
      return text ?? null
    },
  },
  requestsKeptMs: {
    env: 'REQUEST_RETENTION',
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
  responseItemsTtlMs: {
    env: 'RESPONSE_ITEMS_TTL',
    doc: 'How long the items of responses of the Responses API are kept, encrypted, after their last use, for clients that refer to them by id (`item_reference`) instead of sending them: at most 32 MiB per account. Nothing is kept of a request with `store: false`. `0s`: nothing is kept.',
    ...duration('1h', 0, 30 * dayMs),
  },
  backupDir: {
    env: 'BACKUP_DIR',
    doc: 'The folder of backups made by the console, the admin API and `BACKUP_EVERY`. Use another disk than that of `DATA_DIR`. The nodes of a cluster need a shared folder.',
    allowed: 'a folder',
    defaultText: '`backups` in `DATA_DIR`',
    read: (text: string | undefined, environment: Environment): string =>
      text ?? join(environment['DATA_DIR'] ?? './data', backupsFolder),
  },
  backupEveryMs: {
    env: 'BACKUP_EVERY',
    doc: 'The interval of automatic backups, such as `1d`, counted from the newest backup. `0s`: no automatic backups. Set it on all nodes of a cluster; one of them makes the backup. Operators are notified of failures.',
    ...duration('0s', 0, 366 * 86_400_000),
  },
  backupsKept: {
    env: 'BACKUPS_KEPT',
    doc: 'How many automatic backups are kept; older ones are deleted. Manual backups are never deleted.',
    ...integer(7, 1, 10_000),
  },
})
