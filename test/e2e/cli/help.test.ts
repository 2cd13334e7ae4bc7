// @backend sqlite – help is printed without a database
/** The help of the command line. */

import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { before, describe, test } from 'node:test'

import { CommandLine } from '../../support/server/command-line.ts'

const commandsByGroup = {
  account: ['create', 'list', 'show', 'credit', 'set'],
  key: ['create', 'list', 'disable', 'enable', 'delete'],
  upstream: [
    'add',
    'list',
    'test',
    'enable',
    'disable',
    'remove',
    'health',
    'credentials',
    'credential-add',
    'credential-remove',
  ],
  model: ['add', 'list', 'set', 'price', 'remove'],
}
const commands = [
  'serve',
  'doctor',
  'verify',
  'backup',
  'restore',
  'route',
  'seed',
  'docs',
  ...Object.entries(commandsByGroup).flatMap(([group, names]) => names.map((name) => `${group} ${name}`)),
]

describe('Help of the command line', () => {
  /** The output of `--help`, by command. */
  const helps = new Map<string, string>()
  const helpOf = (name: string): string => helps.get(name) ?? assert.fail(name)
  const sluice = new CommandLine(tmpdir())
  before(async () => {
    await Promise.all(
      commands.map(async (name) => helps.set(name, await sluice.output([...name.split(' '), '--help']))),
    )
  })

  test('--help of every command – has usage, an example and --json', async () => {
    for (const [name, help] of helps) {
      assert.ok(help.includes(`Usage: sluice ${name} `), help)
      assert.match(help, /^ +--json /m, name)
      assert.ok(help.includes(`$ sluice ${name}`), `${name} has no example`)
    }
    const [all, account, byHelp] = await Promise.all([
      sluice.output(['--help']),
      sluice.output(['account', '--help']),
      sluice.output(['help', 'account', 'set']),
    ])
    for (const name of commands) {
      const [group = '', command = group] = name.split(' ')
      assert.match(all, new RegExp(`^  ${group} `, 'm'))
      if (group === 'account') assert.match(account, new RegExp(`^  ${command} `, 'm'))
    }
    assert.equal(byHelp, helpOf('account set'))
  })

  test('--help of every option – has a description and marks required options', () => {
    assert.equal(helps.size, commands.length)
    for (const help of helps.values()) assert.doesNotMatch(help, /^ {2}(-|\w)\S*( <[^>]+>)?$/m)
    assert.match(helpOf('key create'), /--name <text> +name of the key \(required\)$/m)
    assert.match(helpOf('model add'), /--context <tokens> .* \(required\)$/m)
    assert.match(helpOf('verify'), /the ledger from its journal/)
  })
})
