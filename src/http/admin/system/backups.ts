/** `/backups`: copies of everything that the relay has to remember, made while it works, checked, taken away. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { auditRow } from '../../../db/audit.ts'
import { refuse } from '../../../errors.ts'
import { tarBytes, tarOf } from '../../../lib/tar.ts'
import type { Backup } from '../../../db/backups.ts'
import type { Desk } from '../desk.ts'
import { createdAnswer, gone, idPath, okAnswer, refusals, time, timeOf } from '../schemas.ts'

export const backupOut = z
  .object({
    id: z.string(),
    state: z.enum(['making', 'whole', 'checking', 'damaged', 'failed']).meta({
      description: '“damaged”: a check found that it cannot be put back. “failed”: it was not made.',
    }),
    made_at: time,
    by: z.string().nullable().meta({ description: 'Who had it made; “schedule”: nobody, see BACKUP_EVERY.' }),
    bytes: z.int().nullable(),
    accounts: z.int().nullable(),
    entries: z.int().nullable(),
    last_commit: z.int().nullable(),
    version: z.string().nullable().meta({ description: 'Of the release that made it.' }),
    sealed_by: z.enum(['key file', 'ENCRYPTION_KEY']).nullable().meta({
      description: 'What opens the credentials in it. Neither is part of a download.',
    }),
    checked_at: time.nullable().meta({
      description: 'When it was last read through and its ledger recomputed; at first when it was made.',
    }),
    problem: z.string().nullable(),
    progress: z
      .object({
        step: z.enum(['copying', 'comparing', 'recomputing']),
        percent: z.int().nullable(),
      })
      .nullable()
      .meta({ description: 'While it is made or checked.' }),
  })
  .openapi('Backup')
export const scheduleOut = z.object({
  every_ms: z.int().nullable().meta({ description: 'A backup is made by itself so often; null: none is.' }),
  kept: z.int(),
  folder: z.string().meta({ description: 'Where they lie on the relay’s machine.' }),
})

const list = createRoute({
  method: 'get',
  path: '/backups',
  summary: 'List the backups that the relay has made, newest first, with what is under way',
  request: { query: z.strictObject({}) },
  responses: okAnswer(
    z.object({ data: z.array(backupOut), next: z.null(), schedule: scheduleOut }),
    'All of them, and how they are made by themselves.',
  ),
})
const make = createRoute({
  method: 'post',
  path: '/backups',
  summary: 'Begin a backup; one at a time',
  responses: createdAnswer(backupOut, 'It is being made.'),
})
const read = createRoute({
  method: 'get',
  path: '/backups/{id}',
  summary: 'Read a backup, or how far it is',
  request: { params: idPath },
  responses: okAnswer(backupOut, 'The backup.'),
})
const check = createRoute({
  method: 'post',
  path: '/backups/{id}/check',
  summary: 'Begin to read a backup through and to recompute its ledger',
  request: { params: idPath },
  responses: okAnswer(backupOut, 'It is being checked.'),
})
const download = createRoute({
  method: 'get',
  path: '/backups/{id}/download',
  summary: 'Download a backup as a tar archive, without the key that opens the credentials in it',
  request: { params: idPath },
  responses: {
    200: { description: 'The archive.', content: { 'application/x-tar': { schema: z.string() } } },
    ...refusals,
  },
})
const remove = createRoute({
  method: 'delete',
  path: '/backups/{id}',
  summary: 'Delete a backup, or forget one that failed',
  request: { params: idPath },
  responses: okAnswer(gone, 'It is gone.'),
})

function view({
  id,
  state,
  madeAt,
  by,
  content,
  checkedAt,
  problem,
  step,
}: Backup): z.infer<typeof backupOut> {
  return {
    id,
    state,
    made_at: timeOf(madeAt),
    by,
    bytes: content?.files.reduce((sum, { bytes }) => sum + bytes, 0) ?? null,
    accounts: content?.accounts ?? null,
    entries: content?.entries ?? null,
    last_commit: content?.lastCommit ?? null,
    version: content?.version ?? null,
    sealed_by: content?.sealedBy ?? null,
    checked_at: timeOf(checkedAt),
    problem,
    progress: step === null ? null : { step: step.doing, percent: step.percent },
  }
}

/** Read as fast as it is taken; a reader who has gone closes the file. */
function streamOf(
  chunks: AsyncGenerator<Uint8Array<ArrayBuffer>, void>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}

export function backupRoutes({ house, by }: Desk): OpenAPIHono {
  const { db, backups, config } = house

  async function audited(action: string, id: string): Promise<void> {
    await db.write(auditRow(by, `backup.${action}`, id))
  }

  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { backupEveryMs, backupsKept, backupDir } = config
    const schedule = {
      every_ms: backupEveryMs === 0 ? null : backupEveryMs,
      kept: backupsKept,
      folder: backupDir,
    }
    return c.json({ data: (await backups.list()).map(view), next: null, schedule }, 200)
  })
  app.openapi(make, async (c) => {
    const begun = await backups.make(by)
    await audited('make', begun.id)
    return c.json(view(begun), 201)
  })
  app.openapi(read, async (c) => {
    const { id } = c.req.valid('param')
    const found = (await backups.list()).find((backup) => backup.id === id)
    if (found === undefined) throw refuse('not_found', { message: 'There is no such backup.' })
    return c.json(view(found), 200)
  })
  app.openapi(check, async (c) => {
    const { id } = c.req.valid('param')
    const begun = await backups.check(id)
    await audited('check', id)
    return c.json(view(begun), 200)
  })
  app.openapi(download, async (c) => {
    const { id } = c.req.valid('param')
    const { folder, files } = await backups.takeaway(id)
    await audited('download', id)
    return c.body(streamOf(tarOf(folder, files, id)), 200, {
      'content-type': 'application/x-tar',
      'content-length': String(tarBytes(files)),
      'content-disposition': `attachment; filename="${id}.tar"`,
    })
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await backups.remove(id)
    await audited('delete', id)
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}
