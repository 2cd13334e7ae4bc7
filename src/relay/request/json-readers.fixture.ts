/**
 * Reads what an upstream receives as different parsers do. JavaScript reads it here; Python, in one process of its own,
 * also as parsers do that keep the first of repeated keys, ignore case, keep escapes in keys, end keys at U+0000, or
 * drop lone surrogates.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

/** What a reader finds in a body, by the names of the fields. */
export interface Reading {
  readonly reader: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Why tests that need Python are skipped; false if they run. */
export const pythonSkipReason: string | false =
  spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed'

/** Reads a body as JavaScript does. Throws SyntaxError. */
export function readAsJavaScript(body: Buffer): Reading {
  return { reader: 'JSON.parse', fields: JSON.parse(body.toString()) as Reading['fields'] }
}

const program = String.raw`
import base64, json, math, sys

class Pairs(list):
    pass

fields = ('model', 'n', 'max_tokens', 'max_completion_tokens', 'stream')
readers = {
    'Python': (lambda key: key, False),
    'first key wins': (lambda key: key, True),
    'ignores case': (str.casefold, False),
    'ignores case, first key wins': (str.casefold, True),
    'ends keys at U+0000': (lambda key: key.split('\0')[0], False),
    'drops lone surrogates': (lambda key: key.encode('utf-8', 'ignore').decode(), False),
}

def read(pairs, name_of, keeps_first):
    found = {}
    for key, value in pairs:
        name = name_of(key)
        if name in fields and not (keeps_first and name in found):
            found[name] = value
    return found

# A number beyond all others has no JSON.
def parse_float(text):
    return float(text) if math.isfinite(float(text)) else text

def load(text):
    return json.loads(text, object_pairs_hook=Pairs, parse_float=parse_float)

for line in sys.stdin:
    body = base64.b64decode(line).decode()
    try:
        pairs = load(body)
        found = {name: read(pairs, *reader) for name, reader in readers.items()}
        if '\\"' not in body:
            kept = load(body.replace('\\', '\\\\'))
            found['keeps escapes'] = read(kept, *readers['Python'])
    except ValueError as error:
        found = {'Python: ' + str(error): {}}
    print(json.dumps(found), flush=True)
`

export class PythonReaders {
  readonly #child = spawn('python3', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  readonly #lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()

  /** Starts Python for one test. */
  constructor(t: TestContext) {
    t.after(() => this.#child.kill())
  }

  /** Reads each body with all readers. A body that Python rejects has one reading, without fields. */
  async read(bodies: readonly Buffer[]): Promise<Reading[][]> {
    for (const body of bodies) this.#child.stdin.write(`${body.toString('base64')}\n`)
    const readings: Reading[][] = []
    while (readings.length < bodies.length) {
      const line = await this.#lines.next()
      if (line.done === true) throw new Error('Python has exited.')
      const found = JSON.parse(line.value) as Record<string, Reading['fields']>
      readings.push(Object.entries(found).map(([reader, fields]) => ({ reader, fields })))
    }
    return readings
  }
}
