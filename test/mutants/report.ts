/** What a run of mutants found, by file. */
import { readText } from '../support/source-files.ts'
import type { Mutant } from './mutate.ts'
import type { Outcome } from './try-mutants.ts'

/** A mutant that no test can or needs to find. */
export interface Survivor {
  readonly file: string
  readonly code: string
  readonly change: string
  readonly reason: string
}

/** The share of the mutants that tests must find. */
const minFoundShare = 0.95

export function readSurvivors(): Survivor[] {
  return JSON.parse(readText('test/mutants/survivors.json')) as Survivor[]
}

export function isListed({ file, code, change }: Mutant, survivors: readonly Survivor[]): boolean {
  return survivors.some((each) => each.file === file && each.code === code && each.change === change)
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

export class MutantReport {
  readonly #isVerbose: boolean
  readonly #files: readonly string[]
  readonly #survivors = readSurvivors()
  readonly #outcomes: Outcome[] = []
  readonly #startedAt = performance.now()

  constructor(mutants: readonly Mutant[], isVerbose: boolean) {
    this.#isVerbose = isVerbose
    this.#files = [...new Set(mutants.map(({ file }) => file))].toSorted()
  }

  readonly add = (outcome: Outcome): void => {
    this.#outcomes.push(outcome)
    const { mutant, failure } = outcome
    if (this.#isVerbose) console.log(`${formatPlace(mutant)} ${mutant.change}: ${failure ?? 'SURVIVED'}`)
  }

  get #surviving(): Outcome[] {
    return this.#outcomes.filter(({ failure }) => failure === null)
  }

  get #unlisted(): Outcome[] {
    return this.#surviving.filter(({ mutant }) => !isListed(mutant, this.#survivors))
  }

  get #foundShare(): number {
    const tried = this.#outcomes.length
    return tried === 0 ? 1 : (tried - this.#surviving.length) / tried
  }

  print(): void {
    for (const file of this.#files) {
      const ofFile = this.#outcomes.filter(({ mutant }) => mutant.file === file)
      const found = ofFile.filter(({ failure }) => failure !== null).length
      console.log(`${file}: ${ofFile.length} tried, ${found} found, ${ofFile.length - found} survived`)
    }
    const unlisted = this.#unlisted.toSorted(
      ({ mutant: a }, { mutant: b }) => a.file.localeCompare(b.file) || a.line - b.line,
    )
    if (unlisted.length > 0) console.log('Survivors that survivors.json does not list:')
    for (const { mutant, files } of unlisted) {
      const ran = files === 0 ? 'no test executes it' : `${files} test files`
      console.log(`  ${formatPlace(mutant)} ${mutant.change}   (${ran})\n    ${mutant.code}`)
    }
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0)
    console.log(
      `${this.#outcomes.length} mutants tried, ${percent(this.#foundShare)} found, ` +
        `${this.#surviving.length} survived, ${unlisted.length} of them unlisted, ${seconds} s`,
    )
  }

  /** Whether enough of the mutants were found, and every survivor is listed. */
  get isGood(): boolean {
    return this.#unlisted.length === 0 && this.#foundShare >= minFoundShare
  }
}

function formatPlace({ file, line }: Mutant): string {
  return `${file}:${line}`
}
