/** Calls of the automation contract that have a story of their own, beside the walk in admin.test.ts: where it is. */
export const walkedElsewhere: Readonly<Record<string, string>> = {
  'GET /notices': 'test/notices.test.ts',
  'POST /notices/read': 'src/http/admin/notices.test.ts',
  'GET /notice-preferences': 'src/http/admin/notices.test.ts',
  'PATCH /notice-preferences': 'src/http/admin/notices.test.ts',
  'GET /accounts/x/notice-preferences': 'src/http/admin/notices.test.ts',
  'PATCH /accounts/x/notice-preferences': 'src/http/admin/notices.test.ts',
  'POST /accounts/x/vouchers': 'test/vouchers.test.ts',
  'POST /vouchers/x/revoke': 'test/vouchers.test.ts',
  'POST /requests/x/refund': 'test/vouchers.test.ts',
}
