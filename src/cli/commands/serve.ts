/** `sluice serve`: runs the relay until a signal stops it. */

import type { Command } from 'commander'
import { ConfigError, readConfig } from '../../config.ts'
import { withJsonOption } from '../options.ts'
import { printResult, type OutputOptions } from '../output.ts'

async function start(format: OutputOptions): Promise<void> {
  let config
  try {
    config = readConfig()
  } catch (error) {
    if (error instanceof ConfigError && format.json === true) {
      printResult({ problems: error.problems }, format, () => '')
    }
    throw error
  }
  const { serve } = await import('../../process/serve.ts')
  await serve(config)
}

export function configure(command: Command): void {
  withJsonOption(command, 'serve')
  command.addHelpText(
    'after',
    '\nThe relay does not start with invalid settings; each is reported with its allowed values (as a list with --json).\n' +
      'SIGTERM shuts it down gracefully, a second signal immediately.',
  )
  command.action(start)
}
