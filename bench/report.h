// Figures as markdown tables and as JSON, in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/speeds.h"
#include "limpid/core/json.h"

namespace bench {

using limpid::Json;

double median(std::vector<double> values);

// How much faster limpid is than a peer.
struct Ratio {
  double value = 0, uncertainty = 0;  // median of the rounds, two standard errors

  // Whether the rounds show which of the two is ahead, or that they are about equal.
  bool is_certain() const;
  std::string text() const;
};

// The ratio is computed within each round, since the state of the machine is the same for both.
Ratio ratio_of(const std::vector<double>& peer, const std::vector<double>& limpid);

// Three significant digits, or all digits before the point: "0.0123", "1.23", "12.3", "1234".
std::string number(double value);

struct Table {
  std::string title;
  std::vector<std::string> columns;  // after the column of row names
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> cells;  // [row][column]

  void add(const std::string& name, std::vector<std::string> row) {
    names.push_back(name);
    cells.push_back(std::move(row));
  }
  // Leaves out columns that are empty in all rows.
  std::string markdown() const;
};

std::string markdown(const Machine& machine);
std::string markdown(const Speeds& speeds);
Json json(const Machine& machine);
Json json(const Speeds& speeds);

// Throws std::runtime_error on failure.
void write(const std::filesystem::path& path, const std::string& text);

// Prints the text; also writes NAME.md and NAME.json unless the folder is "".
void publish(const std::filesystem::path& folder, const std::string& name,
             const std::string& markdown, const Json& figures);

}  // namespace bench
