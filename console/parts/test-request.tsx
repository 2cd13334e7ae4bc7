/** One real, small request from the console: what came back, what it cost, and its id. */
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, type ChatAnswer } from '../api/chat.ts'
import { useWords } from '../language.ts'
import { queries } from '../api/session.ts'
import { useAction } from '../components/forms/use-action.ts'
import { durationText } from '../components/format.ts'
import { Icon } from '../components/layout/icon.tsx'
import { Refused } from '../components/feedback/empty-state.tsx'
import { Copyable, Money } from '../components/tables/format-cells.tsx'

export function TestRequest({ model }: { readonly model: string }) {
  const words = useWords('account').test
  const [answer, setAnswer] = useState<ChatAnswer | null>(null)
  const send = useAction(async () => {
    setAnswer(null)
    const messages = [{ role: 'user', content: words.question }] as const
    setAnswer(await ask({ model, messages, maxTokens: 64 }))
    await queries.invalidateQueries({ queryKey: ['own'] })
  })
  return (
    <div className="stack">
      <Button
        variant="default"
        className="at-start"
        leftSection={<Icon name="play" />}
        loading={send.isRunning}
        onClick={() => void send.run()}
      >
        {words.send}
      </Button>
      {send.error && <Refused error={send.error} />}
      {answer !== null && (
        <div className="panel stack" role="status">
          <p className="answer">{answer.text}</p>
          <div className="row quiet">
            {answer.cost !== null && <Money amount={answer.cost} />}
            <span>{words.tokens(answer.promptTokens, answer.completionTokens)}</span>
            <span>{durationText(answer.durationMs)}</span>
            <Copyable text={answer.requestId} />
            <Link to="/usage/$id" params={{ id: answer.requestId }}>
              {words.bill}
            </Link>
          </div>
        </div>
      )}
    </div>
  )
}
