/** An answer that is good for everybody who asks within a moment, so that many who ask cost one question. */
export function briefly<Answer>(ms: number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let answer: Promise<Answer> | null = null
  const forget = (): undefined => {
    answer = null
  }
  return () => {
    if (answer !== null) return answer
    answer = ask()
    // A failure is nobody's answer but theirs who wait for it.
    answer.then(() => setTimeout(forget, ms).unref(), forget)
    return answer
  }
}
