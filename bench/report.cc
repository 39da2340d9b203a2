#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

template <class T, std::size_t N>
Json list(const std::array<T, N>& values) {
  return std::vector<T>(values.begin(), values.end());
}

}  // namespace

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool Ratio::is_certain() const { return uncertainty < std::max(0.02, std::abs(value - 1)); }

std::string Ratio::text() const {
  return fmt::format("{:.2f}{}", value,
                     uncertainty < 0.005 ? "" : fmt::format(" ± {:.2f}", uncertainty));
}

// The standard error of a median is that of a normal distribution with these quartiles. One round
// says nothing of it.
Ratio ratio_of(const std::vector<double>& peer, const std::vector<double>& limpid) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < std::min(peer.size(), limpid.size()); ++r)
    ratios.push_back(peer[r] / limpid[r]);
  if (ratios.size() == 1) return {ratios[0], INFINITY};
  std::sort(ratios.begin(), ratios.end());
  const double quartiles = ratios[ratios.size() * 3 / 4] - ratios[ratios.size() / 4];
  const double error = 1.253 * quartiles / 1.349 / std::sqrt(static_cast<double>(ratios.size()));
  return {median(ratios), 2 * error};
}

std::string number(double value) {
  const double size = std::abs(value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string Table::markdown() const {
  std::vector<bool> shown(columns.size(), false);
  for (const auto& row : cells)
    for (std::size_t c = 0; c < row.size(); ++c) shown[c] = shown[c] || !row[c].empty();
  std::string head = "| |", line = "|---|", body;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!shown[c]) continue;
    head += " " + columns[c] + " |";
    line += "---|";
  }
  for (std::size_t r = 0; r < cells.size(); ++r) {
    body += "| " + names[r] + " |";
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (shown[c]) body += " " + cells[r][c] + (cells[r][c].empty() ? "|" : " |");
    body += "\n";
  }
  return fmt::format("**{}**\n\n{}\n{}\n{}", title, head, line, body);
}

std::string markdown(const Machine& machine) {
  return fmt::format("{} ({}), {} CPUs; {}; {}, {}\n", machine.cpu, machine.isa,
                     machine.cpus.size(), machine.system, machine.compiler, machine.flags);
}

std::string markdown(const Speeds& speeds) {
  std::string text = fmt::format("{} thread{}: {:.1f} GFLOP/s of f32 multiply-adds; GB/s read",
                                 speeds.threads, speeds.threads == 1 ? "" : "s", speeds.gflops);
  for (std::size_t i = 0; i < kLevels; ++i)
    text += fmt::format("{} {} {:.0f}", i ? "," : "", kLevelNames[i], speeds.read[i]);
  text += "; GB/s copied";
  for (std::size_t i = 0; i < kLevels; ++i)
    text += fmt::format("{} {} {:.0f}", i ? "," : "", kLevelNames[i], speeds.copy[i]);
  return text + "\n";
}

Json json(const Machine& machine) {
  return {{"cpu", machine.cpu},       {"isa", machine.isa},           {"cpus", machine.cpus},
          {"system", machine.system}, {"compiler", machine.compiler}, {"flags", machine.flags}};
}

Json json(const Speeds& speeds) {
  return {{"threads", speeds.threads},
          {"gflops", speeds.gflops},
          {"read_gb_s", list(speeds.read)},
          {"copy_gb_s", list(speeds.copy)},
          {"cache_bytes", list(speeds.caches)}};
}

void publish(const std::filesystem::path& folder, const std::string& name,
             const std::string& markdown, const Json& figures) {
  fmt::print("{}", markdown);
  if (folder.empty()) return;
  std::filesystem::create_directories(folder);
  write(folder / (name + ".md"), markdown);
  write(folder / (name + ".json"), figures.dump({.indent = 2}) + "\n");
}

}  // namespace bench
