/** Parses command lines of `sluice` as the program does, without running them. */
import { basename } from 'node:path'
import { Command } from 'commander'

import { isTest, readSources } from './source-files.ts'

function disarm(command: Command): void {
  if (command.commands.length === 0) command.action(() => {})
  for (const each of command.commands) disarm(each)
}

/** Every command: a module under `src/cli/` that has the name of a group of commands exports `configure`. */
export async function readCommands(): Promise<Command[]> {
  const commands: Command[] = []
  for (const file of readSources().filter((each) => each.path.startsWith('src/cli/') && !isTest(each))) {
    const { configure } = (await import(`../../${file.path}`)) as { configure?: (command: Command) => void }
    if (configure === undefined) continue
    const command = new Command(basename(file.path, '.ts'))
      .exitOverride()
      .configureOutput({ writeErr: () => {}, writeOut: () => {} })
    configure(command)
    commands.push(command)
  }
  return commands
}

/** Returns a function that throws what commander throws for wrong arguments. */
export async function createCommandLineParser(): Promise<(args: readonly string[]) => Promise<void>> {
  const program = new Command('sluice')
    .version('0')
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
  for (const command of await readCommands()) {
    disarm(command)
    program.addCommand(command)
  }
  return async (args) => {
    await program.parseAsync([...args], { from: 'user' })
  }
}
