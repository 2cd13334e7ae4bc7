/** A table of settings: read from an environment all at once, and told as a page. */
import { readFileSync } from 'node:fs'
import { NotAllowed, type Environment, type Setting } from './setting.ts'

/** What was wrong with the environment, one line per setting. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

function textOf(setting: Setting<unknown>, environment: Environment): string | undefined {
  const text = environment[setting.env]
  if (text !== undefined && text !== '') return text
  const file = setting.secret ? environment[`${setting.env}_FILE`] : undefined
  if (file === undefined || file === '') return undefined
  return readFileSync(file, 'utf8').trim()
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
      const detail = error instanceof NotAllowed && error.message !== '' ? ` (${error.message})` : ''
      const why = error instanceof NotAllowed ? `allowed: ${setting.allowed}${detail}` : String(error)
      problems.push(`${setting.env} is not valid; ${why}`)
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
