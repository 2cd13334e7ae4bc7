/** Acts that destroy or cost say what they do before they do it; a refusal is shown in the same place. */
import { Button, Modal } from '@mantine/core'
import { useSyncExternalStore, type ReactNode } from 'react'
import { useWords } from '../language.ts'
import { useAction } from '../components/forms/use-action.ts'
import { Refused } from '../components/feedback/empty-state.tsx'
import { say } from '../components/feedback/toast.tsx'

export interface Question {
  readonly title: string
  /** What it does, in figures where there are any. */
  readonly effect: ReactNode
  /** The verb on the button. */
  readonly verb: string
  readonly isHarmless?: boolean
  readonly carryOut: () => Promise<unknown>
  /** Said when it is done. */
  readonly done: string
}

let asked: Question | null = null
const listeners = new Set<() => void>()

function show(question: Question | null): void {
  asked = question
  for (const listener of listeners) listener()
}

export function confirm(question: Question): void {
  show(question)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Stands once in the shell. */
export function Confirmation() {
  const question = useSyncExternalStore(subscribe, () => asked)
  const words = useWords('shell')
  const act = useAction(async () => question?.carryOut())
  const close = (): void => {
    act.forget()
    show(null)
  }
  const go = async (): Promise<void> => {
    const done = question?.done
    if (!(await act.run())) return
    show(null)
    if (done !== undefined) say(done)
  }
  return (
    <Modal
      opened={question !== null}
      onClose={close}
      title={question?.title}
      closeButtonProps={{ 'aria-label': words.close }}
    >
      <div className="stack">
        <div>{question?.effect}</div>
        {act.error && <Refused error={act.error} />}
        <div className="row end">
          <Button variant="default" onClick={close}>
            {words.cancel}
          </Button>
          <Button
            color={question?.isHarmless === true ? 'accent' : 'red'}
            loading={act.isRunning}
            onClick={() => void go()}
            data-autofocus
          >
            {question?.verb}
          </Button>
        </div>
      </div>
    </Modal>
  )
}
