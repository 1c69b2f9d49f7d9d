import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["js/**/*.test.ts", "js/**/*.test.tsx"],
    // A test that needs a document asks for it with `// @vitest-environment happy-dom` at its top.
    environment: "node",
  },
});
