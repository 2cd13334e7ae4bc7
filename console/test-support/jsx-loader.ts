/**
 * Lets Node.js import the console's components: it strips types by itself, but does not compile JSX, and would choose the
 * router for servers. Import this module first, and the components with `import()`.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'rolldown/utils'

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith('@tanstack/')) return nextResolve(specifier, context)
    return nextResolve(specifier, { ...context, conditions: ['browser', ...context.conditions] })
  },
  load(url, context, nextLoad) {
    if (!url.startsWith('file:') || !url.endsWith('.tsx')) return nextLoad(url, context)
    const path = fileURLToPath(url)
    const { code, errors } = transformSync(path, readFileSync(path, 'utf8'), {
      jsx: { runtime: 'automatic' },
    })
    const [error] = errors
    if (error !== undefined) throw error
    return { format: 'module', source: code, shortCircuit: true }
  },
})
