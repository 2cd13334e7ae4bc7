/**
 * The command line. Each group of commands is loaded when it is called, to keep the start fast and `serve` small.
 * Results go to standard output, everything else to standard error. Exit codes: 0 for success, 1 for a failed command
 * or check, 2 for wrong usage.
 */

import { Command, CommanderError, Help, type Option } from 'commander'
import { ConfigError } from './config.ts'
import { UsageError } from './cli/output.ts'
import { version } from './lib/version.ts'
import { errorMessage } from './lib/error-message.ts'

/** Each module configures one group of commands. */
const modules = {
  serve: () => import('./cli/commands/serve.ts'),
  doctor: () => import('./cli/doctor/doctor.ts'),
  verify: () => import('./cli/commands/verify.ts'),
  repair: () => import('./cli/commands/repair.ts'),
  backup: () => import('./cli/commands/backup.ts'),
  restore: () => import('./cli/commands/restore.ts'),
  'rotate-key': () => import('./cli/commands/rotate-key.ts'),
  move: () => import('./cli/commands/move.ts'),
  admin: () => import('./cli/commands/admin.ts'),
  account: () => import('./cli/commands/account.ts'),
  key: () => import('./cli/commands/key.ts'),
  upstream: () => import('./cli/commands/upstream.ts'),
  model: () => import('./cli/commands/model.ts'),
  route: () => import('./cli/commands/route.ts'),
  requests: () => import('./cli/commands/requests.ts'),
  seed: () => import('./cli/commands/seed.ts'),
  node: () => import('./cli/commands/node.ts'),
  docs: () => import('./cli/commands/docs.ts'),
}

type CommandName = keyof typeof modules
const commandNames = Object.keys(modules) as CommandName[]

const summaries: Readonly<Record<CommandName, string>> = {
  serve: 'start the relay',
  doctor: 'check this installation and suggest fixes',
  verify: 'recompute the ledger from its journal',
  repair: 'make a ledger consistent again that has text the store cannot keep',
  backup: 'back up the database and its key, even while the relay is running',
  restore: 'restore a backup',
  'rotate-key': 'replace the encryption key of stored credentials, even while the relay is running',
  move: 'migrate all data from SQLite to PostgreSQL, or back',
  admin: 'create links for new operators',
  account: 'manage accounts, their credit, caps and limits',
  key: 'manage API keys',
  upstream: 'manage upstreams and their credentials',
  model: 'manage models, their prices and routes',
  route: 'show which upstreams would serve a model, in which order, and why',
  requests: 'export requests as CSV',
  seed: 'preview and add the reference models and prices',
  node: 'manage the nodes of a cluster',
  docs: 'write the page of all settings (docs/configuration.md)',
}

/** These work without a store or create one. */
const commandsWithoutStore: readonly CommandName[] = ['serve', 'doctor', 'restore', 'move', 'docs']

function usageError(text: string): string {
  return `sluice: ${singleLine(text).replace(/^error: /, '')} (see --help)\n`
}

function singleLine(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ')
}

const plainHelp = new Help()

/** Commander's help does not mark required options. */
function optionDescription(option: Option): string {
  const description = plainHelp.optionDescription(option)
  return option.mandatory ? `${description} (required)` : description
}

function createProgram(): Command {
  const program = new Command('sluice')
    .description(
      'A self-hostable relay in front of AI language models: one interface, many providers, exact money.',
    )
    .version(version)
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    .configureHelp({ optionDescription })
    .addHelpText('after', '\nAll settings are environment variables: see docs/configuration.md.')
    .exitOverride()
  for (const name of commandNames) program.command(name).description(summaries[name])
  let name: CommandName | undefined
  program.hook('preSubcommand', async (_program, command) => {
    name = commandNames.find((each) => each === command.name())
    if (name !== undefined) (await modules[name]()).configure(command)
    isRelay = name === 'serve'
    // The relay logs its own crash.
    if (!isRelay) process.on('uncaughtException', (error) => process.exit(reportError(error)))
  })
  program.hook('preAction', async () => {
    if (name === undefined || !commandsWithoutStore.includes(name))
      (await import('./cli/require-store.ts')).requireStore()
  })
  return program
}

/** Writes the error to standard error, unless commander has done so, and returns the exit code. */
function reportError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const lines = error instanceof ConfigError ? error.problems : [errorMessage(error)]
  for (const line of lines) process.stderr.write(`sluice: ${singleLine(line)}\n`)
  return error instanceof UsageError ? 2 : 1
}

let isRelay = false

// The reader may close our output before we are done (`| head`). The relay serves nevertheless, and nothing that is
// written to standard error is worth ending a command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (isRelay) return
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
process.stderr.on('error', () => {})
// By default, Node.js opens its debugger, which any user of this machine can connect to. Rotation of logs may send it.
process.on('SIGUSR1', () => {})

// `help key create` becomes `key create --help`, because commander's help command only knows loaded commands.
const argv = process.argv.slice(2)
const args = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv

try {
  await createProgram().parseAsync(args, { from: 'user' })
} catch (error) {
  // Exit now: threads and sockets that a failed command leaves open would keep the process running.
  process.exit(reportError(error))
}
