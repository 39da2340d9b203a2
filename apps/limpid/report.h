// The page of a run, from what lies in its folder.
#pragma once

#include <filesystem>

#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"
#include "limpid/train/run_log.h"

namespace limpid::tool {

// Writes report.html into the run's folder. Without a model, or without examples to try it on, the
// page has no summary and no mistakes. Throws kIo where it cannot be written.
void write_report(const std::filesystem::path& folder, const train::RunLog& log,
                  const Model* model = nullptr, const Dataset* test = nullptr);

}  // namespace limpid::tool
