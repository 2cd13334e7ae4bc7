/**
 * The command line. Each group of commands is loaded when it is called, so that the start is quick and `serve` brings
 * nothing along that it does not need. Results go to standard output, all else to standard error; a command ends with
 * 0 when it did what it was asked, 1 when it could not or what it checked does not hold, 2 for wrong usage.
 */

import { Command, CommanderError, Help, type Option } from 'commander'
import { ConfigError } from './config.ts'
import { UsageError } from './cli/output.ts'
import { version } from './server/version.ts'
import { errorWords } from './lib/error-message.ts'

interface Group {
  readonly name: string
  readonly summary: string
  /** Loads what completes the command of this name. */
  readonly load: () => Promise<(command: Command) => void>
}

const groups: readonly Group[] = [
  {
    name: 'serve',
    summary: 'start the relay',
    load: async () => (await import('./cli/commands/serve.ts')).completeServe,
  },
  {
    name: 'doctor',
    summary: 'check this installation and say what to do',
    load: async () => (await import('./cli/doctor.ts')).completeDoctor,
  },
  {
    name: 'verify',
    summary: 'recompute the ledger from its journal',
    load: async () => (await import('./cli/verify.ts')).completeVerify,
  },
  {
    name: 'backup',
    summary: 'copy the database and its key, also while the relay runs',
    load: async () => (await import('./cli/backup.ts')).completeBackup,
  },
  {
    name: 'restore',
    summary: 'put a backup in place',
    load: async () => (await import('./cli/commands/restore.ts')).completeRestore,
  },
  {
    name: 'move',
    summary: 'move everything from SQLite to PostgreSQL, or back',
    load: async () => (await import('./cli/move.ts')).completeMove,
  },
  {
    name: 'admin',
    summary: 'who runs the relay: links by which operators come in',
    load: async () => (await import('./cli/admin.ts')).completeAdmin,
  },
  {
    name: 'account',
    summary: 'accounts, their credit, caps and limits',
    load: async () => (await import('./cli/commands/account.ts')).completeAccount,
  },
  {
    name: 'key',
    summary: "an account's keys",
    load: async () => (await import('./cli/commands/key.ts')).completeKey,
  },
  {
    name: 'upstream',
    summary: 'the places that serve models',
    load: async () => (await import('./cli/upstream.ts')).completeUpstream,
  },
  {
    name: 'model',
    summary: 'what callers name, its prices and routes',
    load: async () => (await import('./cli/commands/model.ts')).completeModel,
  },
  {
    name: 'route',
    summary: 'who would be asked for a model, in which order, and why',
    load: async () => (await import('./cli/route.ts')).completeRoute,
  },
  {
    name: 'requests',
    summary: 'the rows of single requests, as CSV by day',
    load: async () => (await import('./cli/commands/requests.ts')).completeRequests,
  },
  {
    name: 'seed',
    summary: 'add the reference models and prices, after a look at them',
    load: async () => (await import('./cli/commands/seed.ts')).completeSeed,
  },
  {
    name: 'node',
    summary: 'the nodes of a cluster',
    load: async () => (await import('./cli/node.ts')).completeNode,
  },
  {
    name: 'docs',
    summary: 'write the page of all settings',
    load: async () => (await import('./cli/commands/docs.ts')).completeDocs,
  },
]

function usageLine(text: string): string {
  return `sluice: ${inOneLine(text).replace(/^error: /, '')} (--help tells more)\n`
}

function inOneLine(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ')
}

const plainHelp = new Help()

/** Commander leaves it to the refusal to say what a command cannot do without. */
function optionWords(option: Option): string {
  const words = plainHelp.optionDescription(option)
  return option.mandatory ? `${words} (required)` : words
}

function programOf(): Command {
  const program = new Command('sluice')
    .description(
      'A self-hostable relay in front of AI language models: one interface, many providers, exact money.',
    )
    .version(version)
    .configureOutput({ outputError: (text, write) => write(usageLine(text)) })
    .configureHelp({ optionDescription: optionWords })
    .addHelpText('after', '\nEverything is set by environment variables: docs/configuration.md.')
    .exitOverride()
  for (const { name, summary } of groups) program.command(name).description(summary)
  program.hook('preSubcommand', async (_program, command) => {
    const group = groups.find(({ name }) => name === command.name())
    if (group !== undefined) (await group.load())(command)
    // The relay's own end is told by its log.
    if (group?.name !== 'serve') process.on('uncaughtException', (error) => process.exit(exitCodeOf(error)))
  })
  return program
}

/** Writes the error's line, where commander has not done so itself, and tells the exit code. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const lines = error instanceof ConfigError ? error.problems : [errorWords(error)]
  for (const line of lines) process.stderr.write(`sluice: ${inOneLine(line)}\n`)
  return error instanceof UsageError ? 2 : 1
}

// Whoever reads our output may close it before we are done (`| head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

// `help key create` is `key create --help`: commander's own help command knows only what is loaded already.
const words = process.argv.slice(2)
const asked = words[0] === 'help' ? [...words.slice(1), '--help'] : words

try {
  await programOf().parseAsync(asked, { from: 'user' })
} catch (error) {
  // At once: what a failed command leaves open (threads, sockets) must not keep it from ending.
  process.exit(exitCodeOf(error))
}
