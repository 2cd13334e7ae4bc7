/** The loop of a program for Node that uses an official client; see client-program.ts. */
import { createInterface } from 'node:readline'

/** The first line of the input. */
export interface ProgramInput {
  readonly url: string
  /** API keys. */
  readonly rich: string
  readonly poor: string
  readonly limited: string
  readonly toolInputs: readonly object[]
  /** Base64 of a PNG. */
  readonly image: string
}

const lines = createInterface(process.stdin)[Symbol.asyncIterator]()

export async function readInput(): Promise<ProgramInput> {
  const { value } = await lines.next()
  return JSON.parse(String(value)) as ProgramInput
}

/** Runs the scenarios that the other lines name, each with a family of models. */
export async function runScenarios(
  scenarios: Readonly<Record<string, (family: string) => Promise<void>>>,
): Promise<void> {
  for await (const line of lines) {
    const [family = '', name = ''] = line.split(' ')
    const error = await Promise.resolve(
      scenarios[name]?.(family) ?? Promise.reject(new Error(`no ${name}`)),
    ).then(
      () => null,
      (thrown: unknown) => (thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)),
    )
    process.stdout.write(`${JSON.stringify(error)}\n`)
  }
}
