/** Tries mutants against a command, such as the whole short suite, in a copy of the project. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { readText, root } from '../support/source-files.ts'
import { applyMutant, type Mutant } from './mutate.ts'
import type { Outcome } from './try-mutants.ts'

/** Copies what git would commit, and the built console. */
function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mutants-'))
  const options = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const files = execFileSync('git', options, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
  for (const file of [...files.split('\0'), 'console/dist']) {
    if (file === '' || !existsSync(join(root, file))) continue
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

export async function tryCommand(
  mutants: readonly Mutant[],
  command: string,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  const folder = copyProject()
  const isGood = (): boolean =>
    spawnSync(command, { cwd: folder, shell: true, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
  try {
    if (!isGood()) throw new Error(`\`${command}\` fails without a change.`)
    for (const mutant of mutants) {
      const path = join(folder, mutant.file)
      const text = readText(mutant.file)
      writeFileSync(path, applyMutant(text, mutant))
      const failure = isGood() ? null : command
      writeFileSync(path, text)
      onOutcome({ mutant, failure, files: 1 })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
