// Builds the console to console/dist. `npm ci` runs it as `prepare` with --if-possible: if the build tools are not
// installed (NODE_ENV=production), it says so, and the installation succeeds without the console.
import { createRequire } from 'node:module'
import { nodeVersionProblem } from './node-version.js'

const isOptional = process.argv.includes('--if-possible')

function hasBuildTools() {
  try {
    createRequire(import.meta.url).resolve('vite/package.json')
    return true
  } catch {
    return false
  }
}

/** @param {string} reason */
function skip(reason) {
  console.log(`The console was not built: ${reason}`)
  if (!isOptional) process.exitCode = 1
}

if (nodeVersionProblem !== null) {
  skip(nodeVersionProblem)
} else if (!hasBuildTools()) {
  skip('its build tools are not installed. Run `npm ci --include=dev` to install them and build it.')
} else {
  const { buildConsole } = await import('../console/build.ts')
  await buildConsole()
}
