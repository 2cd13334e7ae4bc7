/** Reads a table of settings from the environment, and renders its documentation. */
import { readFileSync } from 'node:fs'
import { errorCode, errorMessage } from './error-message.ts'
import { findSimilarName } from './similar-names.ts'
import { InvalidSettingError, type Environment, type Setting } from './setting-types.ts'
import { toBoundedText } from './valid-text.ts'

/** Of an invalid value in its error. */
const maxShownChars = 100

/** All problems of the environment, one line per setting. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** The file that contains the value of a setting; undefined if its own variable is set, or neither is. */
function fileFor(setting: Setting<unknown>, environment: Environment): string | undefined {
  if (setting.secret !== true || (environment[setting.env] ?? '') !== '') return undefined
  const file = environment[`${setting.env}_FILE`]
  return file === '' ? undefined : file
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Error(`${file} cannot be read (${errorCode(error) ?? errorMessage(error)})`, { cause: error })
  }
}

function settingText(setting: Setting<unknown>, environment: Environment): string | undefined {
  const file = fileFor(setting, environment)
  if (file !== undefined) return readSecretFile(file)
  const text = environment[setting.env]
  return text === '' ? undefined : text
}

/** The value that is not allowed, unless it is a secret. */
function shownValue({ env, secret }: Setting<unknown>, environment: Environment): string {
  const text = environment[env] ?? ''
  return secret === true || text === '' ? '' : `, not ${JSON.stringify(toBoundedText(text, maxShownChars))}`
}

/** Names the variable that is set: for a file, the problem is in the file. */
function describeProblem(setting: Setting<unknown>, environment: Environment, error: unknown): string {
  const file = fileFor(setting, environment)
  const name = file === undefined ? setting.env : `${setting.env}_FILE`
  if (!(error instanceof InvalidSettingError)) return `Invalid ${name}: ${errorMessage(error)}`
  const subject = file === undefined ? '' : `the content of ${file} `
  const detail = error.message === '' ? '' : ` (${error.message})`
  return `Invalid ${name}: ${subject}must be ${setting.allowed}${shownValue(setting, environment)}${detail}`
}

/** Variables that are no settings and resemble one: their values have no effect. */
export function findMisspelledNames(
  settings: readonly Setting<unknown>[],
  environment: Environment,
): { readonly variable: string; readonly setting: string }[] {
  const names = new Set(
    settings.flatMap(({ env, secret }) => (secret === true ? [env, `${env}_FILE`] : [env])),
  )
  return Object.keys(environment).flatMap((variable) => {
    const setting = names.has(variable) ? undefined : findSimilarName(variable, names)
    return setting === undefined ? [] : [{ variable, setting }]
  })
}

/** Reads all settings; throws one `ConfigError` that names every invalid setting and its allowed values. */
export function readSettings(
  settings: Readonly<Record<string, Setting<unknown>>>,
  environment: Environment,
): Record<string, unknown> {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings)) {
    try {
      values[name] = setting.read(settingText(setting, environment), environment)
    } catch (error) {
      problems.push(describeProblem(setting, environment, error))
    }
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return values
}

/** Renders the documentation: one Markdown table for each group. */
export function renderSettingsPage(settings: readonly Setting<unknown>[]): string {
  const lines = [
    '# Configuration',
    '',
    'All settings are environment variables. If a value is invalid, the server does not start, and the error names the setting and its allowed values.',
    'A variable with the suffix `_FILE` holds the path of a file that contains the value.',
    'This page is generated from `src/config.ts` by `npm run docs`.',
  ]
  let group = ''
  for (const setting of settings) {
    if (setting.group !== group) {
      group = setting.group
      lines.push('', `## ${group}`, '', '| Setting | What it does | Allowed | Default |', '|---|---|---|---|')
    }
    const env = setting.secret ? `\`${setting.env}\`, \`${setting.env}_FILE\`` : `\`${setting.env}\``
    lines.push(`| ${env} | ${setting.doc} | ${setting.allowed} | ${setting.defaultText} |`)
  }
  return `${lines.join('\n')}\n`
}
