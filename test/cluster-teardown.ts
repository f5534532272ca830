// Stops the PostgreSQL that cluster-setup.ts started.
export default async function tearDownCluster(): Promise<void> {
  const { stopTestCluster } = globalThis as { stopTestCluster?: () => Promise<void> };
  await stopTestCluster?.();
}
