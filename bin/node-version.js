// Which Node.js runs this, in syntax that old versions understand.
import { existsSync } from 'node:fs'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

/** Why this Node.js cannot run Sluice, and what to do; null if it can. */
export const nodeVersionProblem =
  major > 24 || (major === 24 && minor >= 15)
    ? null
    : `it needs Node.js 24.15 or newer, and this is ${process.version}. ${advice()}`

/** npm installs a Node.js as an optional dependency; npm 9 does not. Only the npm package has compiled sources. */
function advice() {
  if (existsSync(new URL('../src/main.js', import.meta.url))) {
    return (
      'Start it with the command `sluice`, which runs the Node.js that npm 10 or newer installs with this package ' +
      '(on Linux, x64 or arm64, without --omit=optional), or install Node.js 24.15 or newer from https://nodejs.org.'
    )
  }
  if (existsSync(new URL('../node_modules/.bin/node', import.meta.url))) {
    return 'Use `npm start` or `npx sluice`, which run the Node.js version that npm ci installed.'
  }
  const requirements = 'on Linux (x64 or arm64) with npm 10 or newer, which comes with Node.js 20'
  if (!existsSync(new URL('../node_modules', import.meta.url))) {
    return `Run \`npm ci\` ${requirements}: it installs a suitable Node.js. Then run \`npm start\` or \`npx sluice\`.`
  }
  return (
    'The last `npm ci` did not install a suitable Node.js, as npm 9 and older do not. ' +
    `Run it again ${requirements}, or install Node.js 24.15 or newer from https://nodejs.org.`
  )
}
