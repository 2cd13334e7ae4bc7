/** `sluice serve`: the relay itself, until a signal ends it. */

import type { Command } from 'commander'
import { ConfigError, readConfig } from '../../config.ts'
import { finished } from '../options.ts'
import { printResult, type Format } from '../output.ts'

async function start(format: Format): Promise<void> {
  let config
  try {
    config = readConfig()
  } catch (error) {
    if (error instanceof ConfigError && format.json === true) {
      printResult({ problems: error.problems }, format, () => '')
    }
    throw error
  }
  const { serve } = await import('../../server/serve.ts')
  await serve(config)
}

export function completeServe(command: Command): void {
  finished(command, 'serve')
  command.addHelpText(
    'after',
    '\nA wrong setting stops the start with its name and what is allowed; --json lists those problems.\n' +
      'SIGTERM ends it gently, a second signal at once.',
  )
  command.action(start)
}
