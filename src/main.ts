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

interface Group {
  readonly name: string
  readonly summary: string
  /** False if it works without a store or creates one. Default: true. */
  readonly needsStore?: boolean
  /** Loads the function that configures the command. */
  readonly load: () => Promise<(command: Command) => void>
}

const groups: readonly Group[] = [
  {
    name: 'serve',
    summary: 'start the relay',
    needsStore: false,
    load: async () => (await import('./cli/commands/serve.ts')).configureServe,
  },
  {
    name: 'doctor',
    summary: 'check this installation and suggest fixes',
    needsStore: false,
    load: async () => (await import('./cli/doctor/doctor.ts')).configureDoctor,
  },
  {
    name: 'verify',
    summary: 'recompute the ledger from its journal',
    load: async () => (await import('./cli/commands/verify.ts')).configureVerify,
  },
  {
    name: 'repair',
    summary: 'make a ledger consistent again that has text the store cannot keep',
    load: async () => (await import('./cli/commands/repair.ts')).configureRepair,
  },
  {
    name: 'backup',
    summary: 'back up the database and its key, even while the relay is running',
    load: async () => (await import('./cli/commands/backup.ts')).configureBackup,
  },
  {
    name: 'restore',
    summary: 'restore a backup',
    needsStore: false,
    load: async () => (await import('./cli/commands/restore.ts')).configureRestore,
  },
  {
    name: 'rotate-key',
    summary: 'replace the encryption key of stored credentials, even while the relay is running',
    load: async () => (await import('./cli/commands/rotate-key.ts')).configureRotateKey,
  },
  {
    name: 'move',
    summary: 'migrate all data from SQLite to PostgreSQL, or back',
    needsStore: false,
    load: async () => (await import('./cli/commands/move.ts')).configureMove,
  },
  {
    name: 'admin',
    summary: 'create links for new operators',
    load: async () => (await import('./cli/commands/admin.ts')).configureAdmin,
  },
  {
    name: 'account',
    summary: 'manage accounts, their credit, caps and limits',
    load: async () => (await import('./cli/commands/account.ts')).configureAccount,
  },
  {
    name: 'key',
    summary: 'manage API keys',
    load: async () => (await import('./cli/commands/key.ts')).configureKey,
  },
  {
    name: 'upstream',
    summary: 'manage upstreams and their credentials',
    load: async () => (await import('./cli/commands/upstream.ts')).configureUpstream,
  },
  {
    name: 'model',
    summary: 'manage models, their prices and routes',
    load: async () => (await import('./cli/commands/model.ts')).configureModel,
  },
  {
    name: 'route',
    summary: 'show which upstreams would serve a model, in which order, and why',
    load: async () => (await import('./cli/commands/route.ts')).configureRoute,
  },
  {
    name: 'requests',
    summary: 'export requests as CSV',
    load: async () => (await import('./cli/commands/requests.ts')).configureRequests,
  },
  {
    name: 'seed',
    summary: 'preview and add the reference models and prices',
    load: async () => (await import('./cli/commands/seed.ts')).configureSeed,
  },
  {
    name: 'node',
    summary: 'manage the nodes of a cluster',
    load: async () => (await import('./cli/commands/node.ts')).configureNode,
  },
  {
    name: 'docs',
    summary: 'write the page of all settings (docs/configuration.md)',
    needsStore: false,
    load: async () => (await import('./cli/commands/docs.ts')).configureDocs,
  },
]

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
  for (const { name, summary } of groups) program.command(name).description(summary)
  let group: Group | undefined
  program.hook('preSubcommand', async (_program, command) => {
    group = groups.find(({ name }) => name === command.name())
    if (group !== undefined) (await group.load())(command)
    isRelay = group?.name === 'serve'
    // The relay logs its own crash.
    if (!isRelay) process.on('uncaughtException', (error) => process.exit(reportError(error)))
  })
  program.hook('preAction', async () => {
    if (group?.needsStore !== false) (await import('./cli/require-store.ts')).requireStore()
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
