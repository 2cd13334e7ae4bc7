/** The files that are generated from the code and from other pages; `sluice docs` writes docs/configuration.md. */
import { renderErrorsPage } from './error-reference.ts'
import { renderLlms } from './llms.ts'
import { readPages } from './pages.ts'

/** In the order in which they are written: llms.txt lists the pages. */
export const generatedPages: Readonly<Record<string, () => string>> = {
  'docs/errors.md': renderErrorsPage,
  'llms.txt': () => renderLlms(readPages(), ({ path }) => path),
}
