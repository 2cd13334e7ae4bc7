/** Which parts of the sources a run of tests executes, by V8. */
import { Session } from 'node:inspector'
import type { Profiler } from 'node:inspector'

/** Whether the run executed the character at `offset` of the source. */
export type IsCovered = (offset: number) => boolean

const session = new Session()
session.connect()

export function startCoverage(): void {
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true })
}

export function stopCoverage(): void {
  session.post('Profiler.stopPreciseCoverage')
}

/** By the URL of each script that ran since the last call. */
export function takeCoverage(): ReadonlyMap<string, IsCovered> {
  const scripts = new Map<string, IsCovered>()
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    for (const { url, functions } of result) scripts.set(url, isCoveredBy(functions))
  })
  return scripts
}

/** The innermost range that contains the character says how often it ran. */
function isCoveredBy(functions: readonly Profiler.FunctionCoverage[]): IsCovered {
  const ranges = functions.flatMap((each) => each.ranges)
  return (offset) => {
    let innermost: Profiler.CoverageRange | undefined
    for (const range of ranges) {
      if (range.startOffset > offset || range.endOffset <= offset) continue
      const isInner =
        !innermost || range.endOffset - range.startOffset <= innermost.endOffset - innermost.startOffset
      if (isInner) innermost = range
    }
    return innermost !== undefined && innermost.count > 0
  }
}
