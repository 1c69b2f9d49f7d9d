import { defineConfig } from "vitest/config";

// What is tested here has no document; what has one is tested in a real browser, by tests/browser.
export default defineConfig({
  define: { HAS_KERNEL: "true", OWNS_PAGE: "false" },
  // No test leaves anything in the modules: a fresh copy of them for each file would take most of the time.
  // They run beside all other tests, at a lower priority: the limit is for a test that never ends.
  test: {
    include: ["js/**/*.test.ts"],
    environment: "node",
    pool: "threads",
    isolate: false,
    testTimeout: 120_000,
  },
});
