/** Lines of a bill as they are read: a long bill must not keep the thread from requests. */
import { setImmediate } from 'node:timers/promises'

const sliceLength = 500

/** Goes on with other work after every 500 lines. */
export async function* pacedLines<Line>(lines: Iterable<Line>): AsyncGenerator<Line> {
  let count = 0
  for (const line of lines) {
    yield line
    count += 1
    if (count % sliceLength === 0) await setImmediate()
  }
}
