// Writes fixtures.json: small tokenizers, each with texts, the tokens that the tokenizers library gives, and the text that it
// decodes them to. Where the model is "bytes", instead of tokens there is the text that the model saw, with "</w>" after each word.
//
//   npm ci && node make_fixtures.mjs > fixtures.json
import { Tokenizer } from "@anush008/tokenizers";
import { mkdtempSync, writeFileSync } from "fs";
import { tmpdir } from "os";
import { join } from "path";

const folder = mkdtempSync(join(tmpdir(), "tokenizers-"));
let files = 0;

async function fixture(name, file, texts) {
  const whole = { version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...file };
  const path = join(folder, `${files++}.json`);
  writeFileSync(path, JSON.stringify(whole));
  const tokenizer = Tokenizer.fromFile(path);
  const cases = [];
  const sees = file.model === shown && !file.added_tokens;
  for (const text of texts) {
    const ids = (await tokenizer.encode(text, null, { addSpecialTokens: true })).getIds();
    if (sees) cases.push({ text, seen: Buffer.from(ids).toString() });
    else cases.push({ text, ids, decoded: await tokenizer.decode(ids, false), plain: await tokenizer.decode(ids, true) });
  }
  return { name, tokenizer: { ...whole, model: file.model === shown ? "bytes" : file.model }, cases };
}

// A model whose tokens are bytes, with "</w>" after each word: it shows what normalizers and pre-tokenizers do.
const bytes = {};
for (let byte = 0; byte < 256; ++byte) bytes[`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`] = byte;
const shown = { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: "</w>", fuse_unk: false, byte_fallback: true, vocab: bytes, merges: [] };

const texts = [
  "", " ", "Hello, world!", "  Two  spaces\tand\n\nlines \r\n", "I'm you're HE'S can't 'tis", "Ünïcödé ÀÉ é e\u0301 n\u0303 a\u0327\u0301",
  "ﬁ ½ ² Ⅷ ㍿ ﷺ ｱ", "각 각 한글", "日本語の文。中文", "İstanbul ǅ ẞ Σς", "\u0000\u0001\u007f\u0085\u00a0\u200b\u200d\u3000\ufeff\ufffdx",
  "x_1 y-2 (z) [w] $5 + 3,000.25 ¿qué?", "١٢٣ ४५ Ⅻ ½7", "👨‍👩‍👧 🇩🇪🇫🇷 e🏽", "▁a▁▁b c", "aB1cD22EF333gh", "\u1100\u1161\u11a8 \u0e33 \u0930\u094d\u0915",
];
const split = (regex, behavior, invert = false) => ({ type: "Split", pattern: { Regex: regex }, behavior, invert });
const normalizers = [
  { type: "NFC" }, { type: "NFD" }, { type: "NFKC" }, { type: "NFKD" }, { type: "Lowercase" }, { type: "StripAccents" }, { type: "Nmt" },
  { type: "Strip", strip_left: true, strip_right: false }, { type: "Strip", strip_left: false, strip_right: true },
  { type: "Prepend", prepend: "▁" }, { type: "Replace", pattern: { String: " " }, content: "▁" }, { type: "Replace", pattern: { Regex: " {2,}|[0-9]+" }, content: "<>" },
  { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
  { type: "BertNormalizer", clean_text: false, handle_chinese_chars: false, strip_accents: true, lowercase: false },
  { type: "Sequence", normalizers: [{ type: "NFD" }, { type: "Lowercase" }, { type: "StripAccents" }] },
];
const pre_tokenizers = [
  { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true }, { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
  { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true }, { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: false },
  { type: "Metaspace", replacement: "▁", prepend_scheme: "never", split: true },
  { type: "Whitespace" }, { type: "WhitespaceSplit" }, { type: "BertPreTokenizer" }, { type: "Digits", individual_digits: true }, { type: "Digits", individual_digits: false },
  { type: "Punctuation", behavior: "Isolated" }, { type: "Punctuation", behavior: "Contiguous" }, { type: "CharDelimiterSplit", delimiter: "_" },
  ...["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"].flatMap((b) => [split("[ ,]|'", b), split("[ ,]", b, true)]),
  { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious", invert: false },
  split("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "Isolated"),
  split("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "Isolated"),
  split("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "Removed", true),
  split("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "Isolated"),
  split("(ab|a|[b-d]){2}|\\w+?\\d|(?=[A-Z])|x*?y|\\u0041|[[:^x]z]?", "Isolated").pattern && split("(?:[a-c]B?){1,2}|\\w+?\\d|(?=[A-Z])|(?!\\s)\\W{2,}|\\x{48}e*+l", "Isolated"),
  split("^[A-Z]|\\s$|.{7}", "Isolated"),
  { type: "Sequence", pretokenizers: [split("[0-9][0-9][0-9]", "Isolated"), { type: "Punctuation", behavior: "Contiguous" }, { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true }] },
];
const decoders = [
  { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true }, { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
  { type: "Metaspace", replacement: "▁", prepend_scheme: "never", split: true }, { type: "WordPiece", prefix: "##", cleanup: true }, { type: "WordPiece", prefix: "##", cleanup: false },
  { type: "BPEDecoder", suffix: "</w>" }, { type: "ByteFallback" }, { type: "Fuse" }, { type: "Strip", content: "a", start: 2, stop: 0 },
  { type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "Replace", pattern: { Regex: "[a-c]+" }, content: "_" }, null,
  { type: "Sequence", decoders: [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }, { type: "Strip", content: " ", start: 1, stop: 0 }] },
];
const words = ["[UNK]", "▁aaa", "▁", "a", "##bc", "n't", " .", ".", "Ġb", "c</w>", "<0xE2>", "<0x82>", "<0xAC>", "<0xFF>", "é", "Ã", "©", "</s>", "##", "do not"];
const numbered = (list) => Object.fromEntries(list.map((word, i) => [word, i]));
const special = (id, content, more = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

const all = [];
for (const normalizer of normalizers) all.push(await fixture(`normalizer ${JSON.stringify(normalizer)}`, { model: shown, normalizer }, texts));
for (const pre_tokenizer of pre_tokenizers) all.push(await fixture(`pre-tokenizer ${JSON.stringify(pre_tokenizer)}`, { model: shown, pre_tokenizer }, texts));
const level = { model: { type: "WordLevel", vocab: numbered(words), unk_token: "[UNK]" }, pre_tokenizer: { type: "CharDelimiterSplit", delimiter: "|" } };
const lists = ["▁aaa|▁|a|##bc|n't| .|.", "a|Ġb|c</w>|</s>|c</w>", "<0xE2>|<0x82>|<0xAC>|<0xFF>|a|<0xE2>|a|<0xE2>|<0x82>", "é|Ã|©|##|do not|nothing", "</s>|▁aaa|▁aaa", "##bc|a|a"];
for (const decoder of decoders) all.push(await fixture(`decoder ${JSON.stringify(decoder)}`, { ...level, decoder, added_tokens: [special(17, "</s>")] }, lists));

const bpe = { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false };
const letters = [..."abcdefgh ▁"];
const merged = ["ab", "cd", "abcd", "▁a", "▁ab", "ef", "efg", "bc", "aa", "aaaa", "▁▁"];
const merges = ["a b", "c d", "ab cd", "▁ a", "▁a b", "e f", "ef g", "b c", "a a", "aa aa", "▁ ▁"];
const plain = ["abcd efgh", "▁ab▁▁▁abcd", "zzabzz", "aaaaaaaaaaaaaaaaa", "a".repeat(70) + "bcd" + "▁".repeat(31), "abXcdYYef", "efgefgefhbcbcd", "€ab", ""];
const vocab = numbered([...letters, ...merged, "<unk>", "abX", "<0xE2>", "<0x82>", "<0xAC>"]);
all.push(await fixture("BPE", { model: { ...bpe, vocab, merges } }, plain));
all.push(await fixture("BPE unk", { model: { ...bpe, vocab, merges, unk_token: "<unk>" } }, plain));
all.push(await fixture("BPE fuse_unk", { model: { ...bpe, vocab, merges, unk_token: "<unk>", fuse_unk: true } }, plain));
all.push(await fixture("BPE byte_fallback", { model: { ...bpe, vocab, merges, unk_token: "<unk>", fuse_unk: true, byte_fallback: true } }, plain));
all.push(await fixture("BPE ignore_merges", { model: { ...bpe, vocab, merges: merges.map((m) => m.split(" ")), ignore_merges: true }, pre_tokenizer: { type: "WhitespaceSplit" } }, [...plain, "abX efg"]));
all.push(await fixture("BPE affixes", { model: { ...bpe, vocab: numbered(["a", "b", "##b", "##c", "##c</w>", "a</w>", "##b</w>", "ab", "abc</w>", "##bc</w>", "?"]), merges: ["a ##b", "ab ##c</w>", "##b ##c</w>"], continuing_subword_prefix: "##", end_of_word_suffix: "</w>", unk_token: "?" }, pre_tokenizer: { type: "WhitespaceSplit" } }, ["abc ab a b abb cab", "abcbc x"]));
const pieces = numbered(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##a", "the", "##e", "t", "##h", ",", "run", "##ning", "##s", "é", "e"]);
const bert = { model: { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 12, vocab: pieces }, normalizer: normalizers[12], pre_tokenizer: { type: "BertPreTokenizer" }, decoder: decoders[3], added_tokens: [special(0, "[PAD]"), special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]")] };
const sentences = ["Unaffable, the running", "runs thez unaffableable unaffableables", "the [SEP] THE [sep] é É", "", "t,t"];
const template = { type: "TemplateProcessing", single: [{ SpecialToken: { id: "[CLS]", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "[SEP]", type_id: 0 } }], pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }], special_tokens: { "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] }, "[SEP]": { id: "[SEP]", ids: [3, 0], tokens: ["[SEP]", "[PAD]"] } } };
all.push(await fixture("WordPiece template", { ...bert, post_processor: template }, sentences));
all.push(await fixture("WordPiece bert", { ...bert, post_processor: { type: "BertProcessing", sep: ["[SEP]", 3], cls: ["[CLS]", 2] } }, sentences));
all.push(await fixture("WordPiece roberta", { ...bert, post_processor: { type: "RobertaProcessing", sep: ["[SEP]", 3], cls: ["[CLS]", 2], trim_offsets: true, add_prefix_space: false } }, sentences));
const unigram = (more) => ({ type: "Unigram", unk_id: 0, vocab: [["<unk>", 0], ["▁", -2], ["▁a", -3], ["a", -4], ["b", -4.5], ["ab", -5], ["▁ab", -6.25], ["abab", -7], ["c", -5], ["bc", -6], ["日", -6], ["日本", -6.5], ["<0xE2>", -9], ["<0x82>", -9], ["<0xAC>", -9]], ...more });
const spaced = { pre_tokenizer: pre_tokenizers[2], decoder: decoders[1] };
const probable = ["ab abab abc", "bcbcabab", "xxab yy日本日x", "€a €", "▁▁a", "a".repeat(50)];
all.push(await fixture("Unigram", { model: unigram({}), ...spaced }, probable));
all.push(await fixture("Unigram byte_fallback", { model: unigram({ byte_fallback: true }), ...spaced }, probable));
const marked = [
  special(256, "<s>"), special(257, "<l>", { lstrip: true }), special(258, "<r>", { rstrip: true }), special(259, "<w>", { single_word: true }),
  special(260, "word", { single_word: true, special: false }), special(261, "Norm", { normalized: true, special: false }), special(262, "<s><s>"), special(263, "ab", { special: false }), special(264, "abc", { special: false, lstrip: true, rstrip: true }),
];
all.push(await fixture("added tokens", { model: shown, normalizer: { type: "Lowercase" }, pre_tokenizer: pre_tokenizers[3], added_tokens: marked }, ["<s>x <s><s><s> y", "a  <l>  b <r>  \n c<r>", "a<w>b <w> (<w>) _<w>", "word words sword word, word", "norm NORM Norm x", "abc ab  abc  d abab", "é<w>é <w>日 <w>\u200d", "<s", " <l><l> ", "xabcab"]));
console.log(`[\n${all.map((one) => JSON.stringify(one)).join(",\n")}\n]`);
