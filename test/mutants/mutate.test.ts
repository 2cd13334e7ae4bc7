import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readSources, readText, type SourceFile } from '../support/source-files.ts'
import { ImportGraph } from './import-graph.ts'
import { isProduct, moneyFiles, moneyFilesElsewhere, otherPricing } from './money-files.ts'
import { applyMutant, mutantsOf } from './mutate.ts'
import { readSurvivors } from './report.ts'

const changesOf = (text: string): string[] => mutantsOf('a.ts', text).map(({ change }) => change)

describe('mutants', () => {
  test('An operator, a constant and a condition are changed, one at a time', () => {
    const changes = changesOf('export const cost = (a: bigint): bigint => (a > 5n ? a * 2n : 0n)')
    assert.deepEqual(changes, [
      'a > 5n → true',
      'a > 5n → false',
      'a > 5n → (a >= 5n)',
      '5n → 6n',
      'a * 2n → (a / 2n)',
      '2n → 3n',
      '0n → 1n',
    ])
  })

  test('Types, texts, names and log lines stay as they are', () => {
    assert.deepEqual(changesOf("const a: 1 | 2 | Record<'b', 3> = f<4>('c' + d) as { 5: 6 }"), [])
    assert.deepEqual(changesOf("deps.log.warn({ count: 1 }, 'x'); this.#log?.info(!a)"), [])
    assert.deepEqual(changesOf("import { min } from './max.ts'; export { some } from './every.ts'"), [])
  })

  test('A changed text keeps the lines and the meaning of what surrounds it', () => {
    const text = 'first()\na && b()\nconst c = (d && e) && !f\n'
    const changed = mutantsOf('a.ts', text).map((mutant) => applyMutant(text, mutant).split('\n'))
    assert.deepEqual(
      changed.map((lines) => [lines[1], lines[2]]),
      [
        ['a || b()', 'const c = (d && e) && !f'],
        ['a && b()', 'const c = ((d && e) || !f)'],
        ['a && b()', 'const c = ((d || e)) && !f'],
        ['a && b()', 'const c = (d && e) && f'],
      ],
    )
  })

  test('Importers are found through other files, except where only a type is imported', () => {
    const file = (path: string, target?: string, typeOnly = false): Pick<SourceFile, 'path' | 'imports'> => ({
      path,
      imports: target === undefined ? [] : [{ specifier: target, target, names: [], typeOnly, line: 1 }],
    })
    const graph = new ImportGraph([file('b', 'a'), file('c', 'b'), file('d', 'a', true), file('e')])
    assert.deepEqual(
      [...graph.importersOf(['a'])],
      [
        ['a', 0],
        ['b', 1],
        ['c', 2],
      ],
    )
  })
})

describe('money code', () => {
  const files = moneyFiles()
  const sources = readSources()

  test('Every file of the list exists', () => {
    assert.deepEqual(
      moneyFilesElsewhere.filter((file) => !files.includes(file)),
      [],
      'It has moved: correct test/mutants/money-files.ts, so that it is still mutated.',
    )
  })

  test('No other file multiplies money or takes part in pricing', () => {
    const multiplies = /\*\s*BigInt\(|\bBigInt\([^()]*\)\s*\*/
    const pricing =
      /^(?:costOf|costOfUsage|visitCosts|maxCostOf|callCost|affordableOutputTokens|sizeOfHold|sizeOfExtension|clampUsage|boundedOutput|inputBound|decide)$/
    const found = sources
      .filter(({ path }) => path.startsWith('src/') && isProduct(path) && !files.includes(path))
      .filter(
        ({ code, imports }) =>
          multiplies.test(code) || imports.some(({ names }) => names.some((name) => pricing.test(name))),
      )
    assert.deepEqual(
      found.map(({ path }) => path),
      Object.keys(otherPricing),
      'Add the file to the mutated ones, or to `otherPricing` in test/mutants/money-files.ts with what it does instead:',
    )
  })

  test('Every listed survivor is still a mutant, and has a reason', () => {
    const survivors = readSurvivors()
    const mutated = [...new Set(survivors.map(({ file }) => file))].filter((file) => files.includes(file))
    const mutants = mutated.flatMap((file) => mutantsOf(file, readText(file)))
    const gone = survivors.filter(
      ({ file, code, change, reason }) =>
        reason.length < 10 ||
        !mutants.some((each) => each.file === file && each.code === code && each.change === change),
    )
    assert.deepEqual(gone, [], 'Remove it from test/mutants/survivors.json:')
  })
})
