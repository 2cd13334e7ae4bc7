/** The command line as an operator's script runs it: a process of its own, its exit code, and both of its outputs. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import type { RelayProcess } from './relay-process.ts'

const program = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly output: string
  /** Standard error, by line. */
  readonly errors: readonly string[]
}

/** The command line beside a relay, whether it runs or not. */
export function commandsOf({ dataDir, port, clusterSettings }: RelayProcess): CommandLine {
  return new CommandLine(dataDir, { PORT: String(port), ...clusterSettings })
}

export class CommandLine {
  private readonly env: Readonly<Record<string, string>>

  constructor(dataDir: string, env: Readonly<Record<string, string>> = {}) {
    this.env = { DATA_DIR: dataDir, UPSTREAM_ALLOW: '127.0.0.0/8', WORKERS: '1', ...env }
  }

  /** Runs a command to its end. `input` is its standard input. */
  async run(words: readonly string[], input = ''): Promise<Ended> {
    const { PATH, HOME } = process.env
    const child = spawn(process.execPath, [program, ...words], { env: { PATH, HOME, ...this.env } })
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const ended = once(child, 'close')
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = (await ended) as [number | null]
    return { code, output, errors: errors.split('\n').filter((line) => line !== '') }
  }

  /** A command that has to succeed without a word on standard error: its output. */
  async output(words: readonly string[], input?: string): Promise<string> {
    const { code, output, errors } = await this.run(words, input)
    assert.deepEqual({ code, errors }, { code: 0, errors: [] }, `sluice ${words.join(' ')}`)
    return output
  }

  /** The answer of a command that has to succeed, by --json. */
  async json<Answer>(words: readonly string[], input?: string): Promise<Answer> {
    return JSON.parse(await this.output([...words, '--json'], input)) as Answer
  }

  /** The one line of a command that has to fail, and say nothing else. */
  async failure(words: readonly string[], code = 1): Promise<string> {
    const ended = await this.run(words)
    assert.equal(ended.code, code, `sluice ${words.join(' ')}: ${ended.errors.join('\n')}`)
    assert.equal(ended.errors.length, 1, ended.errors.join('\n'))
    assert.equal(ended.output, '')
    return ended.errors[0] ?? ''
  }
}
