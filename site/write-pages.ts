/** Writes the generated pages; `npm run docs` runs it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { generatedPages } from './generated-pages.ts'
import { root } from './pages.ts'

for (const [path, render] of Object.entries(generatedPages)) writeFileSync(join(root, path), render())
