// Tables: a schema as JSON, a zero byte, and the CSV text that is read by it; the text also for
// training.
#include "limpid/data/table/table.h"

#include <algorithm>

#include "limpid/core/key.h"
#include "limpid/formats/csv.h"
#include "tests/fuzz/csv_files.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void touch(const Dataset& data) {
  fuzz::touch(data.inputs);
  fuzz::touch(data.targets);
  if (data.task != Task::kClassification || data.targets.shape().rank() != 1) return;
  for (const std::int32_t label : data.targets.values<std::int32_t>())
    require(label >= 0 && label < data.classes, "a target is a class");
}

// Trains on the columns as if the first one or the last one were the target, and reads the rows
// again by the schema that this gave.
void train_on(const std::filesystem::path& file, const std::string& target) {
  for (const Missing missing : {Missing::kDrop, Missing::kImpute})
    goes_well([&] {
      TableOptions options;
      options.targets = {target};
      options.missing = missing;
      const Split split = load_table(file, options, {80, 10, 10}, Key(0));
      touch(split.train);
      const TableSchema schema = split.train.table.value();
      touch(load_table_rows(file, schema, Targets::kIfPresent));
    });
}

void read(std::span<const std::byte> bytes) {
  const auto zero = std::find(bytes.begin(), bytes.end(), std::byte{0});
  const auto before = static_cast<std::size_t>(zero - bytes.begin());
  const auto text = bytes.subspan(std::min(before + 1, bytes.size()));
  const MemoryFile file(text);
  if (const CsvTable table = parse_csv(text_of(text), "fuzz"); !table.columns.empty()) {
    train_on(file.path(), table.columns.front().name);
    train_on(file.path(), table.columns.back().name);
  }
  const TableSchema schema = table_schema_from_json(Json::parse(text_of(bytes.first(before))));
  require(table_schema_from_json(to_json(schema)) == schema, "a schema is read as it was written");
  goes_well([&] { touch(load_table_rows(file.path(), schema, Targets::kIfPresent)); });
  touch(load_table_rows(file.path(), schema, Targets::kRequired));
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const Bytes& text : csv_files()) {
    const MemoryFile file(text);
    for (const char* target : {"c", "column3", "value", "breite", "3"})
      goes_well([&] {
        TableOptions options;
        options.targets = {target};
        options.missing = Missing::kImpute;
        const Dataset data = load_table(file.path(), options, {90, 10, 0}, Key(0)).train;
        Bytes both = bytes_of(to_json(data.table.value()).dump());
        both.push_back(std::byte{0});
        both.insert(both.end(), text.begin(), text.end());
        all.push_back(std::move(both));
      });
  }
  return all;
}

std::vector<std::string> words() {
  std::vector<std::string> all = csv().words();
  for (const std::string& word : data_config().words()) all.push_back(word);
  all.push_back(R"({"name":"a","categorical":false,"fill":0.5})");
  all.push_back(R"({"name":"b","categorical":true,"categories":["x","y"]})");
  return all;
}

}  // namespace

const Target& table() {
  static const Target target{"table", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
