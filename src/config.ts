/**
 * All settings, with their environment variables, descriptions, allowed values and defaults. This is the only module
 * that reads the environment; `docs/configuration.md` is generated from it. The relay does not start with invalid
 * values.
 */
import { dataSettings } from './config/data.ts'
import { availabilitySettings, notificationSettings, processSettings } from './config/operation.ts'
import { paymentSettings } from './config/payments.ts'
import { referralSettings } from './config/referrals.ts'
import {
  amountText,
  urlList,
  bytes,
  cidrList,
  duration,
  inGroup,
  InvalidSettingError,
  oneOf,
  secret,
  integer,
  optionalInteger,
  string,
  type Environment,
} from './lib/setting-types.ts'
import { findMisspelledNames, readSettings, renderSettingsPage } from './lib/settings.ts'

export { ConfigError } from './lib/settings.ts'
export type { Environment }

const minAdminKeyChars = 16

/** The URLs of another setting, which reports itself if they are invalid. */
function validUrls(text: string | undefined): string[] {
  try {
    return urlList(text)
  } catch {
    return []
  }
}

/** A file of a pair: TLS needs the certificate and its key. */
function filePairedWith(other: string) {
  return {
    allowed: `a path, together with \`${other}\``,
    defaultText: 'none',
    read(text: string | undefined, environment: Environment): string | null {
      if ((text === undefined) !== (environment[other] === undefined)) throw new InvalidSettingError()
      return text ?? null
    },
  }
}

const signUpModes = oneOf('invite', ['open', 'invite', 'closed'])

/** In the order of the documentation page. */
export const settings = {
  ...inGroup('Network', {
    host: {
      env: 'HOST',
      doc: 'The address to listen on; `0.0.0.0` or `::` for all interfaces.',
      ...string('127.0.0.1'),
      allowed: 'an address or host name',
    },
    port: {
      env: 'PORT',
      doc: 'The port to listen on.',
      ...integer(8080, 1, 65_535),
    },
    tlsCertFile: {
      env: 'TLS_CERT_FILE',
      doc: 'The TLS certificate with its chain (PEM). With it and its key, the port serves HTTPS. Both files are reloaded when they change.',
      ...filePairedWith('TLS_KEY_FILE'),
    },
    tlsKeyFile: {
      env: 'TLS_KEY_FILE',
      doc: 'The private key of the certificate (PEM).',
      ...filePairedWith('TLS_CERT_FILE'),
    },
    publicUrl: {
      env: 'PUBLIC_URL',
      doc: 'The public URL of the relay, as shown to users.',
      allowed: 'an http or https URL',
      defaultText: 'the first of `PUBLIC_URLS`, otherwise built from `HOST` and `PORT`',
      read(text: string | undefined, environment: Environment): string | null {
        return (text === undefined ? validUrls(environment['PUBLIC_URLS']) : urlList(text))[0] ?? null
      },
    },
    publicUrls: {
      env: 'PUBLIC_URLS',
      doc: 'All public URLs of the relay, the primary one first. They are shown to users, and each is checked at the interval `PUBLIC_URL_CHECK`.',
      allowed: 'comma-separated http or https URLs',
      defaultText: '`PUBLIC_URL`',
      read(text: string | undefined, environment: Environment): string[] {
        const primary = validUrls(environment['PUBLIC_URL'])
        return [...new Set([...primary, ...urlList(text)])]
      },
    },
    trustProxy: {
      env: 'TRUST_PROXY',
      doc: 'The addresses of trusted proxies in front of the relay. `X-Forwarded-For` is trusted only from these; address allowlists of keys depend on it.',
      ...cidrList,
    },
    corsOrigins: {
      env: 'CORS_ORIGINS',
      doc: 'Origins of web pages that may call `/v1` from a browser, or `*`. Off by default: a page that calls the relay exposes its key to every visitor, who can then spend its balance. Put your own back end between the page and the relay instead.',
      allowed: 'comma-separated origins such as `https://app.example`, or `*`',
      defaultText: 'none',
      read(text: string | undefined): string[] {
        const parts = (text ?? '')
          .split(',')
          .map((part) => part.trim())
          .filter((part) => part !== '')
        for (const part of parts) {
          if (part !== '*' && !(URL.canParse(part) && new URL(part).origin === part))
            throw new InvalidSettingError()
        }
        return parts
      },
    },
  }),
  ...dataSettings,
  ...inGroup('Access', {
    adminApiKey: {
      env: 'ADMIN_API_KEY',
      doc: 'The key of scripts for the admin API at `/api/admin`. Without it, the admin API only accepts operators’ console sessions.',
      ...secret,
      allowed: `at least ${minAdminKeyChars} characters with \`NODE_ENV=production\``,
      read(text: string | undefined, environment: Environment): string | null {
        const isShort = text !== undefined && text.length < minAdminKeyChars
        if (isShort && environment['NODE_ENV'] === 'production') throw new InvalidSettingError()
        return text ?? null
      },
    },
    confirmAbove: {
      env: 'CONFIRM_ABOVE',
      doc: 'An operator’s session must confirm the password, or use a passkey, again before it credits or debits more than this amount, or creates vouchers worth more together. In the platform’s currency.',
      ...amountText('10000'),
    },
    signUp: {
      env: 'SIGN_UP',
      doc: 'Who can sign up in the console: anyone, anyone with an invite code from an operator, or nobody.',
      ...signUpModes,
      defaultText: '`open` if `SMTP_URL` is set, otherwise `invite`, because addresses are not verified',
      read(text: string | undefined, environment: Environment): ReturnType<typeof signUpModes.read> {
        const hasMail = [environment['SMTP_URL'], environment['SMTP_URL_FILE']].some(Boolean)
        return signUpModes.read(text ?? (hasMail ? 'open' : 'invite'))
      },
    },
    smtpUrl: {
      env: 'SMTP_URL',
      doc: 'The SMTP server, such as `smtps://user:password@mail.example:465`. With it, e-mail addresses are verified at sign-up and passwords are reset by e-mail. Without it, accounts are usable immediately, and operators hand out reset links.',
      ...secret,
      allowed: 'an smtp or smtps URL',
      read(text: string | undefined): string | null {
        if (text === undefined) return null
        if (!URL.canParse(text) || !/^smtps?:/.test(text)) throw new InvalidSettingError()
        return text
      },
    },
    mailFrom: {
      env: 'MAIL_FROM',
      doc: 'The sender of e-mails from the relay.',
      ...string('Sluice <sluice@localhost>'),
      allowed: 'an e-mail address, with or without a name',
    },
    staleKeysMs: {
      env: 'STALE_KEYS',
      doc: 'The console marks a key as stale if it has not been used for this long.',
      ...duration('90d', 3_600_000, 3650 * 86_400_000),
    },
    keysDeletedMs: {
      env: 'DELETE_STALE_KEYS',
      doc: 'A key is deleted if it has not been used for this long. `0s`: never.',
      ...duration('0s', 0, 3650 * 86_400_000),
    },
  }),
  ...inGroup('Limits', {
    keysPerAccount: {
      env: 'KEYS_PER_ACCOUNT',
      doc: 'The maximum number of keys per account.',
      ...integer(10, 1, 10_000),
    },
    writesPerMinute: {
      env: 'WRITES_PER_MINUTE',
      doc: 'How many changes the sessions of an account may make in the console in a minute, on all nodes together. Operators and the admin API have no such limit.',
      ...integer(60, 1, 100_000),
    },
    freeAbortsPerHour: {
      env: 'FREE_ABORTS_PER_HOUR',
      doc: 'How many requests an account may cancel before the first content within 60 minutes without a charge, per node. An abort counts if the upstream had responded with 2xx, or had the request for more than a second. For further ones, and beyond 200,000 tokens of input together, the input estimate is charged.',
      ...integer(10, 0, 1000),
    },
    bodyLimitBytes: {
      env: 'BODY_LIMIT',
      doc: 'The maximum size of a request body. Larger requests are rejected with 413.',
      ...bytes('32MiB', 1024, 1024 ** 3),
    },
    bodiesLimitBytes: {
      env: 'BODIES_LIMIT',
      doc: 'The maximum total size of the request bodies that a worker holds in memory. One account holds at most an eighth, or one body of `BODY_LIMIT` if that is more, and gets 429 beyond it; other requests beyond the total get 503. An eighth is reserved for bodies under 64 KiB. Set it to at least eight times `BODY_LIMIT`.',
      ...bytes('256MiB', 1024 ** 2, 64 * 1024 ** 3),
    },
    bodyTimeoutMs: {
      env: 'BODY_TIMEOUT',
      doc: 'A request body must arrive within this time and one second for each 16 KiB of it, and may make no progress for twice this time; otherwise it is rejected with 400.',
      ...duration('30s', 100, 3_600_000),
    },
    answerLimitBytes: {
      env: 'ANSWER_LIMIT',
      doc: 'The maximum size of a non-streaming response, and of a single stream event, from an upstream.',
      ...bytes('32MiB', 1024, 1024 ** 3),
    },
    slowClientMs: {
      env: 'SLOW_CLIENT_TIMEOUT',
      doc: 'A caller that reads nothing of a pending response for this long is disconnected and charged for what it has received.',
      ...duration('60s', 1000, 3_600_000),
    },
    connectionsPerAddress: {
      env: 'CONNECTIONS_PER_ADDRESS',
      doc: 'The maximum number of connections that a client address, or an IPv6 /64 network, may have open per worker. Further ones are closed at once. Loopback addresses and `TRUST_PROXY` are exempt. All workers together accept at most as many connections as half of the open files that the system allows the process.',
      ...optionalInteger('a quarter of all connections of the worker', 1, 1_000_000),
    },
  }),
  ...inGroup('Upstreams', {
    upstreamAllow: {
      env: 'UPSTREAM_ALLOW',
      doc: 'Private addresses that upstreams may use, for self-hosted models. All others are rejected when an upstream is saved and at each connection.',
      ...cidrList,
    },
    keepAliveMs: {
      env: 'STREAM_KEEP_ALIVE',
      doc: 'A silent stream gets a comment at this interval, so that no proxy between the caller and the relay closes it.',
      ...duration('15s', 100, 600_000),
    },
  }),
  ...availabilitySettings,
  ...notificationSettings,
  ...paymentSettings,
  ...referralSettings,
  ...processSettings,
  ...inGroup('Logging', {
    logLevel: {
      env: 'LOG_LEVEL',
      doc: 'The minimum level of log lines, written as JSON to standard output. `info` includes one line per request.',
      ...oneOf('info', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    },
  }),
} as const

type Settings = typeof settings
export type Config = { readonly [Name in keyof Settings]: ReturnType<Settings[Name]['read']> }

/** Throws one `ConfigError` that names every invalid setting and its allowed values. */
export function readConfig(environment: Environment = process.env): Config {
  return readSettings(settings, environment) as Config
}

export interface SettingWarning {
  readonly problem: string
  readonly advice: string
}

/** What is valid and probably a mistake. Contains no values. */
export function findSettingWarnings(
  { adminApiKey }: Config,
  environment: Environment = process.env,
): SettingWarning[] {
  const warnings = findMisspelledNames(Object.values(settings), environment).map(({ variable, setting }) => ({
    problem: `${variable} is not a setting and has no effect`,
    advice: `Did you mean ${setting}?`,
  }))
  if (adminApiKey === null || adminApiKey.length >= minAdminKeyChars) return warnings
  const problem = `ADMIN_API_KEY has fewer than ${minAdminKeyChars} characters and can be guessed`
  return [...warnings, { problem, advice: 'Set a longer one; production does not start with it.' }]
}

/** Renders `docs/configuration.md`. */
export function renderConfigurationPage(): string {
  return renderSettingsPage(Object.values(settings))
}
