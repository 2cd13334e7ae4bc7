// Builds the console to console/dist. `npm ci` runs it as `prepare`, with --if-possible: where the build tools were
// left out (NODE_ENV=production) it says so and leaves the rest of the installation alone.
import { createRequire } from 'node:module'

const isOptional = process.argv.includes('--if-possible')
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

function toolsAreHere() {
  try {
    createRequire(import.meta.url).resolve('vite/package.json')
    return true
  } catch {
    return false
  }
}

/** @param {string} why */
function leaveOut(why) {
  console.log(`The console was not built: ${why}`)
  if (!isOptional) process.exitCode = 1
}

if (major < 24 || (major === 24 && minor < 15)) {
  leaveOut(`it needs Node 24.15 or newer and this is ${process.version}.`)
} else if (!toolsAreHere()) {
  leaveOut('its build tools are not installed. `npm ci --include=dev` brings them and builds it.')
} else {
  const { buildConsole } = await import('../console/build.ts')
  await buildConsole()
}
