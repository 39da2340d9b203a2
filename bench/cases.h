// The cases of the comparison: the task for each library, the right answer, and the least possible
// cost.
#pragma once

#include <string>
#include <vector>

#include "bench/speeds.h"

namespace bench {

struct Case {
  enum class Kind { kForward, kNarrow, kGated, kTraining, kFunction };
  Kind kind;
  // The network, the dtype of the weights, the sizes of the block, the optimiser or the function.
  std::string what;
  int batch;  // rows; for a function, also columns
  int threads;
  std::string table, row;  // place of its figures
  bool heavy = false;      // prepared only once
  bool quick = true;       // part of --quick

  std::string name() const;
  // The command for subject_main.cc that prepares it.
  std::string prepare() const;
  // The least work of a call: every weight is read once.
  Work work() const;
  // The first numbers of the right answer.
  std::vector<long double> right_answer() const;
  // The error of an answer over the allowed error: below 1 if the answer is right.
  double error(const std::vector<float>& answer, const std::vector<long double>& right) const;
};

// Ordered by the number of threads, then by table.
std::vector<Case> all_cases(const std::vector<int>& numbers_of_threads);

}  // namespace bench
