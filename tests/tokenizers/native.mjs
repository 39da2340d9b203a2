// usage: node native.mjs TOKENIZER_JSON TEXTS_JSONL: what the native library makes of the texts, as tokenize_lines writes it.
import { readFileSync } from "fs";
import { Tokenizer } from "@anush008/tokenizers";

const tokenizer = Tokenizer.fromFile(process.argv[2]);
for (const line of readFileSync(process.argv[3], "utf8").split("\n")) {
  if (!line) continue;
  const ids = (await tokenizer.encode(JSON.parse(line), null, { addSpecialTokens: true })).getIds();
  console.log(JSON.stringify({ ids, text: await tokenizer.decode(ids, true) }));
}
