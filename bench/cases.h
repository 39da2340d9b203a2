// The cases of the comparison: what is asked of each library, what the answer is, and what it costs
// at the least.
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
  int batch;  // rows; of a function, columns too
  int threads;
  std::string table, row;  // where its figures stand
  bool heavy = false;      // prepared only once
  bool quick = true;       // takes part in a quick look

  std::string name() const;
  // The line that has subject_main.cc prepare it.
  std::string prepare() const;
  // What a call does at the least: every weight read once.
  Work work() const;
  // The first numbers of the right answer.
  std::vector<long double> right_answer() const;
  // The size of an answer's error in parts of what is allowed; of a right one below 1.
  double error(const std::vector<float>& answer, const std::vector<long double>& right) const;
};

// Ordered by the number of threads, then by table.
std::vector<Case> all_cases();

}  // namespace bench
