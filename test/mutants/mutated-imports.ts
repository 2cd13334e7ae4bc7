/**
 * Loads the project again and again in one process, each time with another mutant. A module URL ends in the number of its
 * load, `bill.ts?load=7`, if the module imports the changed one, directly or not; all others are loaded once.
 */
import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { pathToFileURL, fileURLToPath } from 'node:url'
import { join, relative } from 'node:path'

import { root } from '../support/source-files.ts'
import { applyMutant, type Mutant } from './mutate.ts'

/** The files that a change reaches, by the file that is changed. */
export type Importers = (changed: readonly string[]) => ReadonlySet<string>

interface Load {
  readonly mutant: Mutant | undefined
  readonly reached: ReadonlySet<string>
}

const stripped = new Map<string, string>()
const loads: Load[] = []
const loadOf = (url: string): { load: Load | undefined; number: string } => {
  const number = /\?load=(\d+)$/.exec(url)?.[1] ?? ''
  return { load: number === '' ? undefined : loads[Number(number)], number }
}
const pathOf = (url: string): string => relative(root, fileURLToPath(url))

function sourceOf(file: string, mutant: Mutant | undefined): string {
  if (mutant?.file === file)
    return stripTypeScriptTypes(applyMutant(readFileSync(join(root, file), 'utf8'), mutant))
  const source = stripped.get(file) ?? stripTypeScriptTypes(readFileSync(join(root, file), 'utf8'))
  stripped.set(file, source)
  return source
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL } = context
    const { load, number } = loadOf(parentURL ?? '')
    if (!load || !specifier.startsWith('.')) return nextResolve(specifier, context)
    const { href } = new URL(specifier, parentURL)
    const url = load.reached.has(pathOf(href)) ? `${href}?load=${number}` : href
    return { url, format: url.includes('.ts') ? 'module-typescript' : undefined, shortCircuit: true }
  },
  load(url, context, nextLoad) {
    const { load } = loadOf(url)
    if (!load) return nextLoad(url, context)
    return { format: 'module', source: sourceOf(pathOf(url), load.mutant), shortCircuit: true }
  },
})

/** The URL by which a test file loads everything that is reached anew, with the mutant if there is one. */
export function urlOfNextLoad(file: string, load: Load): string {
  loads.push(load)
  return `${pathToFileURL(join(root, file)).href}?load=${loads.length - 1}`
}
