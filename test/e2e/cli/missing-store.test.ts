// @backend sqlite – commands without a database
// @suite all – runs every command once
/** Commands on a folder without a database, and on that of a cluster node without its DATABASE_URL. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Command } from 'commander'

import { CommandLine } from '../../support/server/command-line.ts'
import { readSources } from '../../support/source-files.ts'

/** They create a store, or need none. */
const excepted = new Set(['serve', 'restore', 'move', 'doctor', 'docs', 'help'])

/** A value that the parser of an argument or option accepts. */
function validValue({
  parseArg,
  argChoices,
}: Pick<Command['options'][number], 'parseArg' | 'argChoices'>): string {
  const values = argChoices ?? ['1', '2026-11-21', 'a=b', 'x']
  const isValid = (value: string): boolean => {
    try {
      parseArg?.(value, undefined)
      return true
    } catch {
      return false
    }
  }
  return values.find(isValid) ?? assert.fail(`no value is valid: ${values.join()}`)
}

/** Every command below this one, with the arguments and options that it requires. */
function requiredWords(command: Command, path: readonly string[]): string[][] {
  if (command.commands.length > 0)
    return command.commands.flatMap((each) => requiredWords(each, [...path, each.name()]))
  const values = command.registeredArguments.filter(({ required }) => required).map(validValue)
  const options = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap((option) => [option.long ?? '', validValue(option)])
  return [[...path, ...values, ...options]]
}

/** The commands of the groups that `--help` lists; the module under `src/cli/` of that name exports `configure`. */
async function listCommands(help: string): Promise<string[][]> {
  const listed = Array.from(
    help.split('Commands:')[1]?.matchAll(/^ {2}([\w-]+) /gm) ?? [],
    (match) => match[1] ?? '',
  )
  const modules = new Map(
    readSources()
      .filter(({ path }) => path.startsWith('src/cli/'))
      .map(({ path }) => [basename(path, '.ts'), path]),
  )
  const groups = listed
    .filter((name) => !excepted.has(name))
    .map(async (name) => {
      const exported: unknown = await import(`../../../${modules.get(name)}`)
      const { configure } = exported as { configure: (command: Command) => void }
      const command = new Command(name)
      configure(command)
      return requiredWords(command, [name])
    })
  return (await Promise.all(groups)).flat()
}

async function createFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

describe('Folder without a database', () => {
  test('Every command – exits with 2, names DATA_DIR and creates nothing', async (t) => {
    const dataDir = await createFolder(t)
    const sluice = new CommandLine(dataDir)
    const commands = await listCommands(await sluice.output(['--help']))
    assert.ok(commands.length > 30)
    const remaining = commands.values()
    const runAll = async (): Promise<void> => {
      for (const args of remaining) {
        const error = await sluice.expectFailure(args, 2)
        assert.ok(error.startsWith(`sluice: No database found in DATA_DIR (${dataDir})`), error)
      }
    }
    await Promise.all([runAll(), runAll(), runAll()])
    assert.match(await sluice.output(['doctor', '--no-calls']), /^warn +database +no database in /m)
    assert.deepEqual(readdirSync(dataDir), [])
  })

  test('Node without its DATABASE_URL – does not start, and every command and doctor say why', async (t) => {
    const dataDir = await createFolder(t)
    await writeFile(join(dataDir, 'node.db'), '')
    const sluice = new CommandLine(dataDir)
    const message = `${dataDir} belongs to a node of a cluster (it contains node.db), but DATABASE_URL is not set.`
    const started = await sluice.expectFailure(['serve'])
    const listed = await sluice.expectFailure(['account', 'list'], 2)
    for (const error of [started, listed]) assert.ok(error.startsWith(`sluice: ${message}`), error)
    const { code, output } = await sluice.run(['doctor', '--json'])
    const { findings } = JSON.parse(output) as { findings: { name: string; state: string; detail: string }[] }
    const found = findings.find(({ name }) => name === 'database')
    assert.deepEqual([code, found?.state, found?.detail.startsWith(message)], [1, 'fail', true])
    assert.deepEqual(readdirSync(dataDir), ['node.db'])
  })
})
