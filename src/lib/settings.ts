/** A table of settings: read from an environment all at once, and told as a page. */
import { readFileSync } from 'node:fs'
import { errorCode, errorWords } from './error-message.ts'
import { NotAllowed, type Environment, type Setting } from './setting-types.ts'

/** What was wrong with the environment, one line per setting. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** The file that holds the value of a setting; undefined where its own variable does, or nothing. */
function fileOf(setting: Setting<unknown>, environment: Environment): string | undefined {
  if (setting.secret !== true || (environment[setting.env] ?? '') !== '') return undefined
  const file = environment[`${setting.env}_FILE`]
  return file === '' ? undefined : file
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Error(`${file} cannot be read (${errorCode(error) ?? errorWords(error)})`, { cause: error })
  }
}

function textOf(setting: Setting<unknown>, environment: Environment): string | undefined {
  const file = fileOf(setting, environment)
  if (file !== undefined) return textIn(file)
  const text = environment[setting.env]
  return text === '' ? undefined : text
}

/** Names the variable that is set: who has given a file has to look there. */
function problemOf(setting: Setting<unknown>, environment: Environment, error: unknown): string {
  const file = fileOf(setting, environment)
  const name = file === undefined ? setting.env : `${setting.env}_FILE`
  if (!(error instanceof NotAllowed)) return `${name} is not valid; ${errorWords(error)}`
  const held = file === undefined ? '' : `, for what is in ${file}`
  const detail = error.message === '' ? '' : ` (${error.message})`
  return `${name} is not valid; allowed${held}: ${setting.allowed}${detail}`
}

/** The value of each, by its name; throws one `ConfigError` that names every wrong one and what is allowed. */
export function readSettings(
  settings: Readonly<Record<string, Setting<unknown>>>,
  environment: Environment,
): Record<string, unknown> {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings)) {
    try {
      values[name] = setting.read(textOf(setting, environment), environment)
    } catch (error) {
      problems.push(problemOf(setting, environment, error))
    }
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return values
}

/** The page of a table: one table of Markdown for each group, in their order. */
export function settingsPage(settings: readonly Setting<unknown>[]): string {
  const lines = [
    '# Configuration',
    '',
    'Everything is set by environment variables. A wrong value stops the start, with its name and what is allowed.',
    'A name with `_FILE` is that of a file which holds the value.',
    'This page is written from `src/config.ts` by `npm run docs`.',
  ]
  let group = ''
  for (const setting of settings) {
    if (setting.group !== group) {
      group = setting.group
      lines.push('', `## ${group}`, '', '| Setting | What it does | Allowed | Default |', '|---|---|---|---|')
    }
    const env = setting.secret ? `\`${setting.env}\`, \`${setting.env}_FILE\`` : `\`${setting.env}\``
    lines.push(`| ${env} | ${setting.doc} | ${setting.allowed} | ${setting.standard} |`)
  }
  return `${lines.join('\n')}\n`
}
