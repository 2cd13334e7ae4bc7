/** `sluice docs`: writes the documentation that is generated from the code. */

import type { Command } from 'commander'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderConfigurationPage } from '../../config.ts'
import { withJsonOption } from '../options.ts'
import { CommandError, printResult, type OutputOptions } from '../output.ts'

const standardPath = fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url))

interface DocsOptions extends OutputOptions {
  readonly output: string
  readonly check?: boolean
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function write({ output: path, ...options }: DocsOptions): void {
  const page = renderConfigurationPage()
  const changed = page !== textAt(path)
  if (options.check === true) {
    if (changed) throw new CommandError(`${path} is out of date. Run \`sluice docs\`.`)
  } else if (changed) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, page)
  }
  printResult({ path, changed }, options, () => (changed ? `Wrote ${path}.` : `${path} is up to date.`))
}

export function configure(command: Command): void {
  withJsonOption(command, 'docs', 'docs --check')
    .option('--output <path>', 'the file to write', standardPath)
    .option('--check', 'write nothing; exit with 1 if the page is out of date')
    .action(write)
}
