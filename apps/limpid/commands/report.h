// The report of a run, from the files in its folder.
#pragma once

#include <filesystem>

#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"
#include "limpid/train/log/run_log.h"

namespace limpid::tool {

// Writes report.html into the run's folder. Without a model or test set, the page has no summary
// and no mistakes. Throws kIo if it cannot be written.
void write_report(const std::filesystem::path& folder, const train::RunLog& log,
                  const Model* model = nullptr, const Dataset* test = nullptr);

}  // namespace limpid::tool
