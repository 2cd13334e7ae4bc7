/**
 * The grammar that all commands share: --json, --progress, an example at the end of --help, and options whose texts
 * are checked before anything is done.
 */

import { InvalidArgumentError, type Command } from 'commander'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { CommandError, UsageError } from './output.ts'
import { errorCode, errorWords } from '../lib/error-message.ts'

/** Gives a command what every command has. Examples are written without the program's name. */
export function finished(command: Command, ...examples: string[]): Command {
  return exampled(command, ...examples).option('--json', 'print the whole answer as JSON')
}

/** A command whose output is no answer but a file. */
export function exampled(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `  $ sluice ${example}`)
  return command.addHelpText('after', `\nExample${lines.length === 1 ? '' : 's'}:\n${lines.join('\n')}`)
}

export const progressOption = [
  '--progress',
  'tell the progress on standard error, also without a terminal',
] as const

export function wholeNumber(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('It has to be a whole number.')
  return Number(value)
}

export function decimal(value: string): string {
  if (!/^-?\d+(\.\d+)?$/.test(value))
    throw new InvalidArgumentError('It has to be a decimal number such as 0.002.')
  return value
}

/** A cap: an amount, or `none`, which removes it. */
export function cap(value: string): string | null {
  return value === 'none' ? null : decimal(value)
}

/** A limit: a whole number, `unlimited`, or `default`, which removes it. */
export function limit(value: string): number | 'unlimited' | null {
  if (value === 'default') return null
  return value === 'unlimited' ? value : wholeNumber(value)
}

/** For options that may be given several times, or with commas. */
export function list(value: string, before: readonly string[] = []): string[] {
  const parts = value.split(',').map((part) => part.trim())
  return [...before, ...parts.filter((part) => part !== '')]
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time, as RFC 3339 or as a span from now: `90d`, `12h`, `30m`. `never` is null. */
export function moment(value: string): string | null {
  if (value === 'never') return null
  const span = /^(\d{1,6})([mhd])$/.exec(value)
  if (span !== null) return new Date(Date.now() + Number(span[1]) * (units[span[2] ?? ''] ?? 0)).toISOString()
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(value)
  if (!isDate || Number.isNaN(Date.parse(value))) {
    throw new InvalidArgumentError('It has to be a time such as 2027-01-31T00:00:00Z, or a span such as 90d.')
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
    .option('--rpm <limit>', `requests a minute: ${allowed}`, limit)
    .option('--tpm <limit>', `tokens a minute: ${allowed}`, limit)
    .option('--rpd <limit>', `requests a day: ${allowed}`, limit)
    .option('--concurrency <limit>', `requests at once: ${allowed}`, limit)
}

/** The object without what was not given; undefined when nothing was. */
export function given<Values extends object>(values: Values): Partial<Values> | undefined {
  const entries = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    // Commander makes an empty text of the null that "none", "default" and "never" mean.
    .map(([name, value]: [string, unknown]): [string, unknown] => [name, value === '' ? null : value])
  // The entries left are those of `values` that are there.
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<Values>)
}

export function limitsOf({ rpm, tpm, rpd, concurrency }: LimitOptions): LimitOptions | undefined {
  return given({ rpm, tpm, rpd, concurrency })
}

export interface SecretOptions {
  readonly credentialFile?: string
  readonly credentialStdin?: boolean
  /** False with --no-credential. */
  readonly credential?: string | boolean
}

const secretWays =
  '--credential-file <path>, --credential-stdin, the variable UPSTREAM_CREDENTIAL, or --no-credential'

function oneLine(secret: string, from: string): string {
  const line = secret.trim()
  if (line === '') throw new CommandError(`There is no credential in ${from}.`)
  return line
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandError(`${path} cannot be read (${errorCode(error) ?? errorWords(error)}).`)
  }
}

/**
 * An upstream's credential, from a file, standard input or the environment: what stands on a command line is seen by
 * every user of the machine. `source` is where commander has `credential` from.
 */
export async function credentialOf(options: SecretOptions, source: string | undefined): Promise<string> {
  if (source === 'cli' && typeof options.credential === 'string') {
    throw new UsageError(`A credential on the command line is seen by everyone here. Use ${secretWays}.`)
  }
  if (options.credentialFile !== undefined)
    return oneLine(fileText(options.credentialFile), options.credentialFile)
  if (options.credentialStdin === true) return oneLine(await text(process.stdin), 'standard input')
  if (options.credential === false) return ''
  if (typeof options.credential === 'string') return oneLine(options.credential, 'UPSTREAM_CREDENTIAL')
  throw new UsageError(`Say where the credential is: ${secretWays}.`)
}
