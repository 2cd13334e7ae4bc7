/** Runs the command line as an operator's script does: in its own process, with its exit code and both outputs. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import type { RelayProcess } from './relay-process.ts'

const program = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))

export interface CommandResult {
  readonly code: number | null
  readonly output: string
  /** Standard error, by line. */
  readonly errors: readonly string[]
}

/** The command line for a relay's data directory, whether the relay is running or not, with these settings more. */
export function commandLineFor(
  { dataDir, port, clusterSettings }: RelayProcess,
  more: Readonly<Record<string, string>> = {},
): CommandLine {
  return new CommandLine(dataDir, { PORT: String(port), ...clusterSettings, ...more })
}

export class CommandLine {
  private readonly env: Readonly<Record<string, string>>

  constructor(dataDir: string, env: Readonly<Record<string, string>> = {}) {
    this.env = { DATA_DIR: dataDir, UPSTREAM_ALLOW: '127.0.0.0/8', WORKERS: '1', ...env }
  }

  /** Runs a command until it exits; `input` is its standard input. */
  async run(args: readonly string[], input = ''): Promise<CommandResult> {
    const { PATH, HOME } = process.env
    const child = spawn(process.execPath, [program, ...args], { env: { PATH, HOME, ...this.env } })
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const result = once(child, 'close')
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = (await result) as [number | null]
    return { code, output, errors: errors.split('\n').filter((line) => line !== '') }
  }

  /** The output of a command that must succeed and write nothing to standard error. */
  async output(args: readonly string[], input?: string): Promise<string> {
    const { code, output, errors } = await this.run(args, input)
    assert.deepEqual({ code, errors }, { code: 0, errors: [] }, `sluice ${args.join(' ')}`)
    return output
  }

  /** The `--json` output of a command that must succeed. */
  async json<Answer>(args: readonly string[], input?: string): Promise<Answer> {
    return JSON.parse(await this.output([...args, '--json'], input)) as Answer
  }

  /** The single error line of a command that must fail and print nothing else. */
  async expectFailure(args: readonly string[], code = 1): Promise<string> {
    const result = await this.run(args)
    assert.equal(result.code, code, `sluice ${args.join(' ')}: ${result.errors.join('\n')}`)
    assert.equal(result.errors.length, 1, result.errors.join('\n'))
    assert.equal(result.output, '')
    return result.errors[0] ?? ''
  }
}
