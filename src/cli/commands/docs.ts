/** `sluice docs`: writes what is made from the code, so that it never tells anything else. */

import type { Command } from 'commander'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderConfigurationPage } from '../../config.ts'
import { finished } from '../options.ts'
import { CommandError, printResult, type Format } from '../output.ts'

const standardPath = fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url))

interface DocsOptions extends Format {
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
  printResult({ path, changed }, options, () => `${path} ${changed ? 'is written' : 'is up to date'}.`)
}

export function completeDocs(command: Command): void {
  finished(command, 'docs', 'docs --check')
    .option('--output <path>', 'where to write it', standardPath)
    .option('--check', 'write nothing; end with 1 when the page is out of date')
    .action(write)
}
