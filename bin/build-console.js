// Builds the console to console/dist. `npm ci` runs it as `prepare` with --if-possible: if the build tools are not
// installed (NODE_ENV=production), it says so, and the installation succeeds without the console.
import { createRequire } from 'node:module'

const isOptional = process.argv.includes('--if-possible')
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

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

if (major < 24 || (major === 24 && minor < 15)) {
  skip(`it needs Node.js 24.15 or newer, and this is ${process.version}.`)
} else if (!hasBuildTools()) {
  skip('its build tools are not installed. Run `npm ci --include=dev` to install them and build it.')
} else {
  const { buildConsole } = await import('../console/build.ts')
  await buildConsole()
}
