/** Shared by all commands: --json, --progress, examples in --help, and parsers that validate options. */

import { InvalidArgumentError, Option, type Command } from 'commander'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { asFields, CommandError, UsageError, type Fields } from './output.ts'
import { errorCode, errorMessage } from '../lib/error-message.ts'

/** Adds --json and examples, which are written without the program's name. */
export function withJsonOption(command: Command, ...examples: string[]): Command {
  return withExamples(command, ...examples).option('--json', 'print the complete result as JSON')
}

/** For commands that output a file instead of a result. */
export function withExamples(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `  $ sluice ${example}`)
  return command.addHelpText('after', `\nExample${lines.length === 1 ? '' : 's'}:\n${lines.join('\n')}`)
}

export const progressOption = [
  '--progress',
  'print progress on standard error, even without a terminal',
] as const

export function parseInteger(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(value)
}

export function parseDecimal(value: string): string {
  if (!/^-?\d+(\.\d+)?$/.test(value))
    throw new InvalidArgumentError('It must be a decimal number such as 0.002.')
  return value
}

/** A JSON object; `example` is shown where it is not one. */
export function parseObject(value: string, example: string): Fields {
  try {
    const parsed: unknown = JSON.parse(value)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return asFields(parsed)
  } catch {
    // Rejected below.
  }
  throw new InvalidArgumentError(`It must be a JSON object such as ${example}.`)
}

/** Prices by unit, as the admin API has them. */
export function parsePrices(value: string): Fields {
  return parseObject(value, '{"input": "0.002", "output": "0.008"}')
}

/** An amount, or `none` to remove the cap. */
export function parseCap(value: string): string | null {
  return value === 'none' ? null : parseDecimal(value)
}

/** A whole number, `unlimited`, or `default` to remove the limit. */
export function parseLimit(value: string): number | 'unlimited' | null {
  if (value === 'default') return null
  return value === 'unlimited' ? value : parseInteger(value)
}

/** For options that may be repeated or hold a comma-separated list. */
export function parseList(value: string, before: readonly string[] = []): string[] {
  const parts = value.split(',').map((part) => part.trim())
  return [...before, ...parts.filter((part) => part !== '')]
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A timestamp (RFC 3339) or a duration from now (`90d`, `12h`, `30m`); `never` is `null`. */
export function parseTime(value: string): string | null {
  if (value === 'never') return null
  const span = /^(\d{1,6})([mhd])$/.exec(value)
  if (span !== null) return new Date(Date.now() + Number(span[1]) * (units[span[2] ?? ''] ?? 0)).toISOString()
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(value)
  if (!isDate || Number.isNaN(Date.parse(value))) {
    throw new InvalidArgumentError(
      'It must be a time such as 2027-01-31T00:00:00Z or a duration such as 90d.',
    )
  }
  return new Date(value).toISOString()
}

/** The fields of a request body that options set, as paths: `{ dailyCap: 'caps.daily' }`. */
export type BodyFields = Readonly<Record<string, string>>

/** The fields that the given options set; `undefined` if there are none. */
export function bodyFrom(options: object, fields: BodyFields): Fields | undefined {
  const given = asFields(options)
  const body: Record<string, unknown> = {}
  for (const [option, path] of Object.entries(fields)) {
    if (given[option] === undefined) continue
    // Commander turns the null of "none", "default" and "never" into an empty string.
    const value = given[option] === '' ? null : given[option]
    const [field = '', nested] = path.split('.')
    body[field] = nested === undefined ? value : { ...asFields(body[field]), [nested]: value }
  }
  return Object.keys(body).length === 0 ? undefined : body
}

export const limitFields = {
  rpm: 'limits.rpm',
  tpm: 'limits.tpm',
  rpd: 'limits.rpd',
  concurrency: 'limits.concurrency',
} as const satisfies BodyFields

/** `--rpm`, `--tpm`, `--rpd`, `--concurrency`. */
export function withLimits(command: Command): Command {
  const allowed = 'a number, "unlimited" or "default"'
  return command
    .option('--rpm <limit>', `requests per minute: ${allowed}`, parseLimit)
    .option('--tpm <limit>', `tokens per minute: ${allowed}`, parseLimit)
    .option('--rpd <limit>', `requests per day: ${allowed}`, parseLimit)
    .option('--concurrency <limit>', `concurrent requests: ${allowed}`, parseLimit)
}

export interface CredentialOptions {
  readonly credentialFile?: string
  readonly credentialStdin?: boolean
  /** False with --no-credential. */
  readonly credential?: string | boolean
}

/** `--credential-file`, `--credential-stdin`, and the variable UPSTREAM_CREDENTIAL. */
export function withCredential(command: Command): Command {
  return command
    .option('--credential-file <path>', 'read the credential from a file')
    .option('--credential-stdin', 'read the credential from standard input')
    .addOption(new Option('--credential <text>').env('UPSTREAM_CREDENTIAL').hideHelp())
}

const credentialSources =
  '--credential-file <path>, --credential-stdin, the variable UPSTREAM_CREDENTIAL, or --no-credential'

function requireCredential(secret: string, from: string): string {
  const line = secret.trim()
  if (line === '') throw new CommandError(`No credential in ${from}.`)
  return line
}

function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandError(`Cannot read ${path} (${errorCode(error) ?? errorMessage(error)}).`)
  }
}

/** A JSON object in a file, for values that may be secret. */
export function parseObjectFile(path: string): Fields {
  return parseObject(readTextFile(path), '{"x-title": "Sluice"}')
}

/**
 * An upstream's credential from a file, standard input or the environment. It is rejected on the command line, which
 * every user of the machine can see. `source`: where commander took `credential` from.
 */
export async function readCredential(
  options: CredentialOptions,
  source: string | undefined,
): Promise<string> {
  if (source === 'cli' && typeof options.credential === 'string') {
    throw new UsageError(
      `A credential on the command line is visible to all users of this machine. Use ${credentialSources}.`,
    )
  }
  if (options.credentialFile !== undefined)
    return requireCredential(readTextFile(options.credentialFile), options.credentialFile)
  if (options.credentialStdin === true) return requireCredential(await text(process.stdin), 'standard input')
  if (options.credential === false) return ''
  if (typeof options.credential === 'string')
    return requireCredential(options.credential, 'UPSTREAM_CREDENTIAL')
  throw new UsageError(`Missing credential. Use ${credentialSources}.`)
}
