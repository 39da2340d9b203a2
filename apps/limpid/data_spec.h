// What --data means: "digits:7", "csv:pets.csv,target=kind", ...: the kind of the data, where it
// is, and options. The same text stands in configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limpid/data/split.h"
#include "limpid/data/standardize.h"
#include "limpid/data/synthetic.h"
#include "limpid/data/table.h"
#include "limpid/data/text_windows.h"
#include "limpid/formats/model.h"

namespace limpid::tool {

struct DataSpec {
  enum class Kind : std::uint8_t { kDigits, kSynthetic, kIdx, kCsv, kNpz, kNpy, kText };
  Kind kind = Kind::kDigits;
  std::string value;                        // the name of what is drawn, else the file or folder
  std::uint64_t seed = 0;                   // of what is drawn, and of the split
  std::optional<Shares> split = {};         // by default 100/0 where the test part is given, else
                                            // 80/10/10
  std::optional<Scaling> scaling = {};      // see scaling_of
  SyntheticOptions drawn = {};              // count: of digits too
  TableOptions table = {};                  // of CSV; the task of npz and npy too
  std::optional<std::string> test_file;     // of CSV
  std::optional<std::string> targets_file;  // of npy
};

// For the help of an option.
extern const std::string kDataSpecHelp;

// Throws UsageError, naming what there is.
DataSpec parse_data_spec(std::string_view text);

// What the spec says, or its kind's default: zscore for files of numbers, none for images and what
// is drawn.
Scaling scaling_of(const DataSpec& spec);

// The parts to train on, a text as `text` says. Throws what reading the data throws.
Split load_data(const DataSpec& spec, const WindowOptions& text);

// What a model is tried on: the test part; of a table that comes in one file and that the spec does
// not split, all rows. A table or a text is read as the model's own was. Throws what reading the
// data throws.
// `most` is how many rows the caller looks at, at most: the others need not be drawn.
Dataset load_examples(const DataSpec& spec, const Model& model,
                      Targets targets = Targets::kRequired, std::int64_t most = 2'147'483'647);

}  // namespace limpid::tool
