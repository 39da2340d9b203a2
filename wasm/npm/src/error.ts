/** What the engine refuses, in one line. `code` is stable: "shape", "dtype", "format", "invalid argument", ... */
export class LimpidError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "LimpidError";
    this.code = code;
  }
}
