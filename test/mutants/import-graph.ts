/** Who imports whom, of the sources as they are when a process runs them: imports of types do not count. */
import type { SourceFile } from '../support/source-files.ts'

export class ImportGraph {
  readonly #importers = new Map<string, string[]>()

  constructor(sources: readonly Pick<SourceFile, 'path' | 'imports'>[]) {
    for (const { path, imports } of sources) {
      for (const { target, typeOnly } of imports) {
        if (target === undefined || typeOnly) continue
        const importers = this.#importers.get(target)
        if (importers) importers.push(path)
        else this.#importers.set(target, [path])
      }
    }
  }

  /** The files, and all that import them directly or not, each with the number of imports between. */
  importersOf(files: readonly string[]): ReadonlyMap<string, number> {
    const distances = new Map(files.map((file) => [file, 0]))
    for (const [file, distance] of distances)
      for (const importer of this.#importers.get(file) ?? [])
        if (!distances.has(importer)) distances.set(importer, distance + 1)
    return distances
  }
}
