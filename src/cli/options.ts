/** Shared by all commands: --json, --progress, examples in --help, and parsers that validate options. */

import { InvalidArgumentError, type Command } from 'commander'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { CommandError, UsageError } from './output.ts'
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

export interface LimitOptions {
  readonly rpm?: number | 'unlimited' | null
  readonly tpm?: number | 'unlimited' | null
  readonly rpd?: number | 'unlimited' | null
  readonly concurrency?: number | 'unlimited' | null
}

/** `--rpm`, `--tpm`, `--rpd`, `--concurrency`. */
export function withLimits(command: Command): Command {
  const allowed = 'a number, "unlimited" or "default"'
  return command
    .option('--rpm <limit>', `requests per minute: ${allowed}`, parseLimit)
    .option('--tpm <limit>', `tokens per minute: ${allowed}`, parseLimit)
    .option('--rpd <limit>', `requests per day: ${allowed}`, parseLimit)
    .option('--concurrency <limit>', `concurrent requests: ${allowed}`, parseLimit)
}

/** The object without undefined values; `undefined` if it is empty. */
export function omitUndefined<Values extends object>(values: Values): Partial<Values> | undefined {
  const entries = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    // Commander turns the null of "none", "default" and "never" into an empty string.
    .map(([name, value]: [string, unknown]): [string, unknown] => [name, value === '' ? null : value])
  // The remaining entries are a subset of `values`.
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<Values>)
}

export function limitsFrom({ rpm, tpm, rpd, concurrency }: LimitOptions): LimitOptions | undefined {
  return omitUndefined({ rpm, tpm, rpd, concurrency })
}

export interface CredentialOptions {
  readonly credentialFile?: string
  readonly credentialStdin?: boolean
  /** False with --no-credential. */
  readonly credential?: string | boolean
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
