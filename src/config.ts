/**
 * Every setting of the product: its environment variable, what it does, what is allowed, its default.
 * This table is the only reader of the environment; `docs/configuration.md` is written from it.
 * A wrong value stops the start with the setting's name and what is allowed.
 */
import { availableParallelism } from 'node:os'
import { availabilitySettings } from './config/availability.ts'
import { backupSettings } from './config/backup.ts'
import { noticeSettings } from './config/notifications.ts'
import { retentionSettings } from './config/retention.ts'
import { slotSettings } from './config/slots.ts'
import { timezoneSettings } from './config/timezone.ts'
import { tlsSettings } from './config/tls.ts'
import {
  addressList,
  bytes,
  cidrList,
  duration,
  NotAllowed,
  oneOf,
  secret,
  serverAddress,
  wholeNumber,
  word,
  type Environment,
  type Setting,
} from './lib/setting-types.ts'
import { readSettings, settingsPage } from './lib/settings.ts'

export { ConfigError } from './lib/settings.ts'
export type { Environment }

/** The table. Order and groups are those of the docs page. */
export const settings = {
  host: {
    env: 'HOST',
    group: 'Where it listens',
    doc: 'The address to listen on. `0.0.0.0` or `::` for every interface.',
    ...word('127.0.0.1'),
    allowed: 'an address or host name',
  },
  port: {
    env: 'PORT',
    group: 'Where it listens',
    doc: 'The port to listen on.',
    ...wholeNumber(8080, 1, 65_535),
  },
  ...tlsSettings,
  publicUrl: {
    env: 'PUBLIC_URL',
    group: 'Where it listens',
    doc: 'The address under which callers reach the relay, shown to them.',
    allowed: 'an http or https address',
    standard: 'the first of `PUBLIC_URLS`, else made from `HOST` and `PORT`',
    read(text: string | undefined, environment: Environment): string | null {
      return (text === undefined ? addressList(environment['PUBLIC_URLS']) : addressList(text))[0] ?? null
    },
  },
  publicUrls: {
    env: 'PUBLIC_URLS',
    group: 'Where it listens',
    doc: 'All addresses under which callers reach the relay, the primary one first. They are shown to users, and each is looked at from here, see `PUBLIC_URL_CHECK`.',
    allowed: 'comma-separated http or https addresses',
    standard: '`PUBLIC_URL` alone',
    read(text: string | undefined, environment: Environment): string[] {
      const primary = addressList(environment['PUBLIC_URL'])
      return [...new Set([...primary, ...addressList(text)])]
    },
  },
  trustProxy: {
    env: 'TRUST_PROXY',
    group: 'Where it listens',
    doc: 'Addresses of the proxies in front of the relay. From these, and only these, `X-Forwarded-For` is believed when a key has an allowlist of addresses.',
    ...cidrList,
  },
  corsOrigins: {
    env: 'CORS_ORIGINS',
    group: 'Where it listens',
    doc: 'Web pages that may call `/v1` from a browser, as origins, or `*`. Off by default: a page that calls the relay carries its key to every visitor, and the key pays. Put your own back end between page and relay instead.',
    allowed: 'comma-separated origins such as `https://app.example`, or `*`',
    standard: 'none',
    read(text: string | undefined): string[] {
      const parts = (text ?? '')
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
      for (const part of parts) {
        if (part !== '*' && !(URL.canParse(part) && new URL(part).origin === part)) throw new NotAllowed()
      }
      return parts
    },
  },
  dataDir: {
    env: 'DATA_DIR',
    group: 'Data',
    doc: 'Where the embedded database and the secrets lie; of a node of a cluster, what it could not yet upload. One relay at a time.',
    ...word('./data'),
    allowed: 'a folder',
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    group: 'Data',
    doc: 'The PostgreSQL of a cluster, 13 or newer: turns the relay into a node of it. Without it everything is in `DATA_DIR`, and there is one relay.',
    ...secret,
    allowed: 'an address such as `postgres://user:password@host:5432/database`',
    read: (text: string | undefined): string | null => serverAddress(text, /^postgres(ql)?:\/\//),
  },
  redisUrl: {
    env: 'REDIS_URL',
    group: 'Data',
    doc: 'The Redis or Valkey in which the nodes of a cluster count rates together. Without it, or while it is away, each node admits its share of every limit.',
    ...secret,
    allowed: 'an address such as `redis://host:6379`, together with `DATABASE_URL`',
    read(text: string | undefined, environment: Environment): string | null {
      const url = serverAddress(text, /^rediss?:\/\//)
      const isAlone = (environment['DATABASE_URL'] ?? environment['DATABASE_URL_FILE'] ?? '') === ''
      if (url !== null && isAlone)
        throw new NotAllowed('without DATABASE_URL there is one relay, which counts by itself')
      return url
    },
  },
  ...slotSettings,
  encryptionKey: {
    env: 'ENCRYPTION_KEY',
    group: 'Data',
    doc: 'Wraps the key under which upstream credentials are stored. Without it a key file is made in `DATA_DIR` at the first start, and in a cluster the key lies in the database beside what it seals; keep whichever you use with your backups.',
    ...secret,
    read(text: string | undefined): string | null {
      if (text === undefined) return null
      if (text.length < 16) throw new NotAllowed()
      return text
    },
    allowed: 'at least 16 characters',
  },
  ...retentionSettings,
  ...backupSettings,
  adminApiKey: {
    env: 'ADMIN_API_KEY',
    group: 'Access',
    doc: 'Opens the automation contract under `/api/admin` to scripts; without it only an operator’s session in the console does.',
    ...secret,
    read: (text: string | undefined): string | null => (text === undefined || text === '' ? null : text),
  },
  signUp: {
    env: 'SIGN_UP',
    group: 'Access',
    doc: 'Who may open an account in the console: anybody, whoever has an invite code of an operator, nobody.',
    ...oneOf('open', ['open', 'invite', 'closed']),
  },
  smtpUrl: {
    env: 'SMTP_URL',
    group: 'Access',
    doc: 'The mail server, such as `smtps://user:password@mail.example:465`. With it, e-mail addresses are verified before an account is opened, and a lost password is reset by mail; without it accounts can be used at once, and an operator hands out links.',
    ...secret,
    allowed: 'an smtp or smtps address',
    read(text: string | undefined): string | null {
      if (text === undefined) return null
      if (!URL.canParse(text) || !/^smtps?:/.test(text)) throw new NotAllowed()
      return text
    },
  },
  mailFrom: {
    env: 'MAIL_FROM',
    group: 'Access',
    doc: 'Whom mail of the relay comes from.',
    ...word('Sluice <sluice@localhost>'),
    allowed: 'an e-mail address, with a name or without',
  },
  staleKeysMs: {
    env: 'STALE_KEYS',
    group: 'Access',
    doc: 'A key that nobody has used for so long is marked as stale in the console.',
    ...duration('90d', 3_600_000, 3650 * 86_400_000),
  },
  keysDeletedMs: {
    env: 'DELETE_STALE_KEYS',
    group: 'Access',
    doc: 'A key that nobody has used for so long is deleted. `0s`: none is.',
    ...duration('0s', 0, 3650 * 86_400_000),
  },
  keysPerAccount: {
    env: 'KEYS_PER_ACCOUNT',
    group: 'Limits',
    doc: 'How many keys an account may hold at once.',
    ...wholeNumber(10, 1, 10_000),
  },
  bodyLimitBytes: {
    env: 'BODY_LIMIT',
    group: 'Limits',
    doc: 'The largest request body; beyond it the answer is 413, at once.',
    ...bytes('20MiB', 1024, 1024 ** 3),
  },
  bodiesLimitBytes: {
    env: 'BODIES_LIMIT',
    group: 'Limits',
    doc: 'How many bytes of request bodies one worker holds at once; beyond them the answer is 503.',
    ...bytes('256MiB', 1024 ** 2, 64 * 1024 ** 3),
  },
  answerLimitBytes: {
    env: 'ANSWER_LIMIT',
    group: 'Limits',
    doc: 'The largest whole answer, and the largest single event of a stream, taken from an upstream.',
    ...bytes('32MiB', 1024, 1024 ** 3),
  },
  slowClientMs: {
    env: 'SLOW_CLIENT_TIMEOUT',
    group: 'Limits',
    doc: 'A caller who takes nothing of a waiting answer for this long is cut off and charged for what was received.',
    ...duration('60s', 1000, 3_600_000),
  },
  upstreamAllow: {
    env: 'UPSTREAM_ALLOW',
    group: 'Upstreams',
    doc: 'Private addresses that upstreams may have, for models of your own. All others are refused when saved and again at each connection.',
    ...cidrList,
  },
  keepAliveMs: {
    env: 'STREAM_KEEP_ALIVE',
    group: 'Upstreams',
    doc: 'A silent stream gets a comment this often, so that nothing between caller and relay gives it up.',
    ...duration('15s', 100, 600_000),
  },
  ...availabilitySettings,
  ...noticeSettings,
  ...timezoneSettings,
  workers: {
    env: 'WORKERS',
    group: 'Running',
    doc: 'How many worker threads relay requests. On other systems than Linux there is always one.',
    allowed: 'a whole number from 1 to 256',
    standard: 'one per core',
    read(text: string | undefined): number {
      if (text === undefined) return availableParallelism()
      const value = Number(text)
      if (!/^\d+$/.test(text) || value < 1 || value > 256) throw new NotAllowed()
      return value
    },
  },
  demo: {
    env: 'DEMO',
    group: 'Running',
    doc: 'The demonstration: an upstream that writes deterministic text, the reference models, an account with a key and credit. Default: on in an empty `DATA_DIR` outside `NODE_ENV=production`; a directory that began as a demonstration stays one.',
    allowed: '`1` or `0`',
    standard: 'see text',
    read(text: string | undefined): boolean | null {
      if (text === undefined) return null
      if (text !== '1' && text !== '0') throw new NotAllowed()
      return text === '1'
    },
  },
  production: {
    env: 'NODE_ENV',
    group: 'Running',
    doc: '`production` keeps the demonstration off unless `DEMO=1` asks for it.',
    allowed: 'text',
    standard: 'none',
    read: (text: string | undefined): boolean => text === 'production',
  },
  drainDelayMs: {
    env: 'DRAIN_DELAY',
    group: 'Running',
    doc: 'How long the port stays open after SIGTERM while `/readyz` already says 503.',
    ...duration('5s', 0, 600_000),
  },
  drainGraceMs: {
    env: 'DRAIN_GRACE',
    group: 'Running',
    doc: 'How long running answers may go on after that; the rest then end with an error and are settled exactly.',
    ...duration('300s', 0, 86_400_000),
  },
  logLevel: {
    env: 'LOG_LEVEL',
    group: 'Logs',
    doc: 'From which level on lines are written, as JSON on standard output. `info` has one line per request.',
    ...oneOf('info', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  },
} as const satisfies Record<string, Setting<unknown>>

type Settings = typeof settings
export type Config = { readonly [Name in keyof Settings]: ReturnType<Settings[Name]['read']> }

/** Reads all settings; throws one `ConfigError` that names every wrong one and what is allowed. */
export function readConfig(environment: Environment = process.env): Config {
  return readSettings(settings, environment) as Config
}

/** The page `docs/configuration.md`, as text. */
export function renderConfigurationPage(): string {
  return settingsPage(Object.values(settings))
}
