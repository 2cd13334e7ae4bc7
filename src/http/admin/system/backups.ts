/** `/backups`: online backups of all data: create, check, download, delete. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { auditStatement } from '../../../db/audit.ts'
import { apiError } from '../../../errors.ts'
import { tarSize, createTar } from '../../../lib/tar.ts'
import type { Backup } from '../../../db/backups.ts'
import type { AdminContext } from '../admin-context.ts'
import { createdResponse, deletedSchema, idParams, okResponse, errorResponses, time } from '../schemas.ts'
import { formatTime } from '../../api/json-values.ts'

export const backupSchema = z
  .object({
    id: z.string(),
    state: z.enum(['making', 'whole', 'checking', 'damaged', 'failed']).meta({
      description: '“damaged”: a check found that it cannot be restored. “failed”: it could not be created.',
    }),
    made_at: time,
    by: z
      .string()
      .nullable()
      .meta({ description: 'Who created it; “schedule”: created automatically, see BACKUP_EVERY.' }),
    bytes: z.int().nullable(),
    accounts: z.int().nullable(),
    entries: z.int().nullable(),
    last_commit: z.int().nullable(),
    version: z.string().nullable().meta({ description: 'The release that created it.' }),
    sealed_by: z.enum(['key file', 'ENCRYPTION_KEY']).nullable().meta({
      description: 'What decrypts the credentials in it. A download contains neither.',
    }),
    checked_at: time.nullable().meta({
      description: 'When it was last read in full and its ledger recomputed; initially, when it was created.',
    }),
    problem: z.string().nullable(),
    progress: z
      .object({
        step: z.enum(['copying', 'comparing', 'recomputing']),
        percent: z.int().nullable(),
      })
      .nullable()
      .meta({ description: 'Present while it is being created or checked.' }),
  })
  .openapi('Backup')
export const scheduleSchema = z.object({
  every_ms: z.int().nullable().meta({ description: 'The interval of scheduled backups; null: none.' }),
  kept: z.int(),
  folder: z.string().meta({ description: 'The directory on the machine of the relay.' }),
})

const list = createRoute({
  method: 'get',
  path: '/backups',
  summary: 'List backups, newest first, including those in progress',
  request: { query: z.strictObject({}) },
  responses: okResponse(
    z.object({ data: z.array(backupSchema), next: z.null(), schedule: scheduleSchema }),
    'All backups, and the schedule.',
  ),
})
const create = createRoute({
  method: 'post',
  path: '/backups',
  summary: 'Start a backup; only one runs at a time',
  responses: createdResponse(backupSchema, 'The backup in progress.'),
})
const read = createRoute({
  method: 'get',
  path: '/backups/{id}',
  summary: 'Get a backup and its progress',
  request: { params: idParams },
  responses: okResponse(backupSchema, 'The backup.'),
})
const check = createRoute({
  method: 'post',
  path: '/backups/{id}/check',
  summary: 'Start a check that reads a backup in full and recomputes its ledger',
  request: { params: idParams },
  responses: okResponse(backupSchema, 'The backup that is being checked.'),
})
const download = createRoute({
  method: 'get',
  path: '/backups/{id}/download',
  summary: 'Download a backup as a tar archive, without the key that decrypts its credentials',
  request: { params: idParams },
  responses: {
    200: { description: 'The archive.', content: { 'application/x-tar': { schema: z.string() } } },
    ...errorResponses,
  },
})
const remove = createRoute({
  method: 'delete',
  path: '/backups/{id}',
  summary: 'Delete a backup',
  request: { params: idParams },
  responses: okResponse(deletedSchema, 'Deleted.'),
})

function serializeBackup({
  id,
  state,
  madeAt,
  by,
  content,
  checkedAt,
  problem,
  step,
}: Backup): z.infer<typeof backupSchema> {
  return {
    id,
    state,
    made_at: formatTime(madeAt),
    by,
    bytes: content?.files.reduce((sum, { bytes }) => sum + bytes, 0) ?? null,
    accounts: content?.accounts ?? null,
    entries: content?.entries ?? null,
    last_commit: content?.lastCommit ?? null,
    version: content?.version ?? null,
    sealed_by: content?.sealedBy ?? null,
    checked_at: formatTime(checkedAt),
    problem,
    progress: step === null ? null : { step: step.doing, percent: step.percent },
  }
}

/** Reads only as fast as the client does; a disconnect closes the file. */
function toReadableStream(
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

export function backupRoutes({ ctx, by }: AdminContext): OpenAPIHono {
  const { db, backups, config } = ctx

  async function audit(action: string, id: string): Promise<void> {
    await db.write(auditStatement(by, `backup.${action}`, id))
  }

  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { backupEveryMs, backupsKept, backupDir } = config
    const schedule = {
      every_ms: backupEveryMs === 0 ? null : backupEveryMs,
      kept: backupsKept,
      folder: backupDir,
    }
    return c.json({ data: (await backups.list()).map(serializeBackup), next: null, schedule }, 200)
  })
  app.openapi(create, async (c) => {
    const backup = await backups.make(by)
    await audit('make', backup.id)
    return c.json(serializeBackup(backup), 201)
  })
  app.openapi(read, async (c) => {
    const { id } = c.req.valid('param')
    const existing = (await backups.list()).find((backup) => backup.id === id)
    if (existing === undefined) throw apiError('not_found', { message: 'Backup not found.' })
    return c.json(serializeBackup(existing), 200)
  })
  app.openapi(check, async (c) => {
    const { id } = c.req.valid('param')
    const backup = await backups.check(id)
    await audit('check', id)
    return c.json(serializeBackup(backup), 200)
  })
  app.openapi(download, async (c) => {
    const { id } = c.req.valid('param')
    const { folder, files } = await backups.download(id)
    await audit('download', id)
    return c.body(toReadableStream(createTar(folder, files, id)), 200, {
      'content-type': 'application/x-tar',
      'content-length': String(tarSize(files)),
      'content-disposition': `attachment; filename="${id}.tar"`,
    })
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await backups.remove(id)
    await audit('delete', id)
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}
