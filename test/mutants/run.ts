/**
 * Mutation tests of the code that decides about money: changes it in one place at a time and runs the unit tests and seeds
 * of the simulator that execute the place. A mutant that no test notices is a missing test, or changes nothing.
 *
 *     npm run mutants                      files that differ from the last complete run, for at most two minutes
 *     npm run mutants -- caps bill         files whose path contains one of the words
 *     npm run mutants -- --all             all of them, for at most an hour
 *     npm run mutants -- --all --write     and notes in `checked.json` what was checked
 *     npm run mutants -- --with 'npm test' --sample 30 --in src/catalog --in console/pages
 *                                          mutants of any module, each against a command in a copy of the project
 *
 * `--seed` repeats the order of an earlier run, `--sample` ends after that many mutants, `--minutes` after that time.
 * `survivors.json` lists the mutants that no test can or needs to find, each with a reason.
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { Prng } from '../../sim/prng.ts'
import { readSources, readText, root } from '../support/source-files.ts'
import { TestProcess } from './child-pool.ts'
import { isProduct, moneyFiles } from './money-files.ts'
import { mutantsOf, type Mutant } from './mutate.ts'
import { MutantReport } from './report.ts'
import { tryCommand } from './try-command.ts'
import { tryMutants } from './try-mutants.ts'

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    in: { type: 'string', multiple: true },
    with: { type: 'string' },
    seed: { type: 'string' },
    sample: { type: 'string' },
    minutes: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
})
const checkedPath = join(root, 'test/mutants/checked.json')
const isNumber = (text: string | undefined): boolean => text === undefined || /^\d+(\.\d+)?$/.test(text)
if (![values.seed, values.sample, values.minutes].every(isNumber))
  throw new Error('--seed, --sample and --minutes must be numbers.')

const sources = readSources()
const hashOf = (file: string): string =>
  createHash('sha256').update(readText(file)).digest('hex').slice(0, 16)

function changedFiles(): string[] {
  const checked = JSON.parse(readFileSync(checkedPath, 'utf8')) as Record<string, string>
  return moneyFiles().filter((file) => checked[file] !== hashOf(file))
}

function chosenFiles(): string[] {
  const { in: folders, all } = values
  if (folders) {
    const isInside = (path: string): boolean =>
      folders.some((folder) => path === folder || path.startsWith(`${folder.replace(/\/$/, '')}/`))
    return sources.map(({ path }) => path).filter((path) => isInside(path) && isProduct(path))
  }
  if (words.length > 0) return moneyFiles().filter((file) => words.some((word) => file.includes(word)))
  return all ? moneyFiles() : changedFiles()
}

/** The mutants in an order that the seed decides. */
function shuffle(mutants: Mutant[], seed: number): Mutant[] {
  const prng = new Prng(seed)
  for (let index = mutants.length - 1; index > 0; index -= 1) {
    const other = prng.below(index + 1)
    const [a, b] = [mutants[index], mutants[other]]
    if (a && b) Object.assign(mutants, { [index]: b, [other]: a })
  }
  return mutants
}

function defaultMinutes(): number {
  if (values.all) return 60
  return words.length > 0 || values.in ? Infinity : 2
}

const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000))
const deadline = performance.now() + Number(values.minutes ?? defaultMinutes()) * 60_000
const files = chosenFiles()
const drawn = shuffle(
  files.flatMap((file) => mutantsOf(file, readText(file))),
  seed,
)
const mutants = drawn.slice(0, Number(values.sample ?? drawn.length))
console.log(`${mutants.length} of ${drawn.length} mutants in ${files.length} files, seed ${seed}`)

const report = new MutantReport(mutants, values.verbose)
if (values.with !== undefined) await tryCommand(mutants, values.with, report.add)
else if (mutants.length > 0) await tryInProcesses()
report.print()
// A sample says too little to fail for: what survives it is decided before the next complete run.
const isBounded = !values.all && words.length === 0 && values.in === undefined
if (!report.isGood) console.log(`Repeat it with --seed ${seed}.`)
if (values.write && values.all && report.isGood)
  writeFileSync(
    checkedPath,
    `${JSON.stringify(Object.fromEntries(moneyFiles().map((file) => [file, hashOf(file)])), null, 2)}\n`,
  )
process.exitCode = report.isGood || isBounded ? 0 : 1

async function tryInProcesses(): Promise<void> {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'sluice-mutants-'))
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755)
  const env = {
    ...process.env,
    TMPDIR: folder,
    TEST_SUITE: 'short',
    MUTANTS_SEED: String(seed),
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
  }
  const processes = Array.from({ length: availableParallelism() }, () => new TestProcess(env))
  // An interrupted run leaves nothing behind: its processes end with the channel.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  try {
    await tryMutants({
      mutants,
      sources,
      processes,
      deadline,
      onOutcome: report.add,
      onMeasured: (file, durationMs, failure) => {
        if (failure !== null) console.log(`not used, fails without a change: ${file}: ${failure}`)
        else if (values.verbose) console.log(`${file}: ${Math.round(durationMs)} ms`)
      },
      onRemaining: ({ file, line, change }) => {
        if (values.verbose) console.log(`${file}:${line} ${change}: survives the tests of its module`)
      },
    })
  } finally {
    await Promise.all(processes.map((each) => each.stop()))
  }
}
