/** `sluice rotate-key`: replaces the encryption key, and seals all stored secrets again under a new data key. */

import type { Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type {
  RotationStatus,
  RotationStep,
  RotationStepRequest,
} from '../../process/key-rotation/key-rotation.ts'
import { withAdminClient, type AdminClient } from '../admin-client.ts'
import { progressOption, withJsonOption } from '../options.ts'
import { CommandError, printResult, withProgress, type ProgressOptions } from '../output.ts'

/** How long the other nodes of a cluster may take to load the new key. */
const nodesTimeoutMs = 30_000
const pollMs = 200
/** Of the values that cannot be decrypted. */
const maxListed = 20

interface Progress {
  resealed: number
  /** How many values are to be sealed again; null: not yet known. */
  total: number | null
  /** What the command waits for; null: nothing. */
  waiting: string | null
}

function describe({ resealed, total, waiting }: Progress): string {
  if (waiting !== null) return 'waiting for all nodes to load the new key'
  return total === null ? 'distributing the new key' : `sealing secrets again: ${resealed} of ${total},`
}

async function requestStep(client: AdminClient, request: RotationStepRequest): Promise<RotationStep> {
  return (await client.call('POST', '/rotate-key', request)) as RotationStep
}

function unreadableError(values: readonly string[]): CommandError {
  const rest = values.length > maxListed ? ` and ${values.length - maxListed} more` : ''
  const list = values.slice(0, maxListed).join(', ')
  return new CommandError(
    `No key opens these values: ${list}${rest}. Set or delete them, then run sluice rotate-key again.`,
  )
}

/** Runs the steps until the rotation is finished. An interrupted run is resumed by the next. */
async function rotate(
  client: AdminClient,
  progress: Progress,
  report: (step: string) => void,
): Promise<void> {
  let step = await requestStep(client, { begin: true })
  let waitingSince = performance.now()
  let unreadable: string[] = []
  while (step.phase !== 'finished') {
    progress.waiting = step.waiting
    progress.resealed += step.resealed
    if (step.remaining !== null) progress.total = progress.resealed - step.resealed + step.remaining
    report(describe(progress))
    unreadable.push(...step.unreadable)
    if (step.waiting === null) {
      waitingSince = performance.now()
      // The end of a pass: what is left was written under the old key meanwhile, or cannot be opened.
      if (step.next === null && unreadable.length > 0) throw unreadableError(unreadable)
      if (step.next === null) unreadable = []
    } else {
      if (performance.now() - waitingSince > nodesTimeoutMs)
        throw new CommandError(`${step.waiting} Then run sluice rotate-key again.`)
      await wait(pollMs)
    }
    step = await requestStep(client, step.next === null ? {} : { position: step.next })
  }
}

async function run(options: ProgressOptions): Promise<void> {
  const progress: Progress = { resealed: 0, total: null, waiting: null }
  const status = await withAdminClient('rotate-key', async (client) => {
    await withProgress(options, describe(progress), (report) => rotate(client, progress, report))
    return (await client.call('GET', '/rotate-key')) as RotationStatus
  })
  const { resealed } = progress
  const hasPrevious = status.has_previous_key
  printResult({ finished: true, resealed, previous_key_removable: hasPrevious }, options, () => {
    const summary = `${resealed} values were sealed again. No value is left under the old key.`
    const next = hasPrevious ? ' ENCRYPTION_KEY_PREVIOUS can be removed.' : ''
    return `${summary}${next} Backups made before need the old key: keep it with them.`
  })
}

export function configure(command: Command): void {
  withJsonOption(command, 'rotate-key', 'rotate-key --progress')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nSet ENCRYPTION_KEY to the new key and ENCRYPTION_KEY_PREVIOUS to the current one, restart the relay, in a cluster\n' +
        'all nodes one after the other, and run this command. Without ENCRYPTION_KEY, it replaces the key file in DATA_DIR\n' +
        'or, in a cluster, the key in the database. It works whether or not the relay is running. If it is interrupted, run\n' +
        'it again: both keys work until it is finished.',
    )
    .action(run)
}
