// CIFAR-10 and CIFAR-100 from their binary files. Depends on dataset.h.
#pragma once

#include <cstdint>
#include <filesystem>

#include "limpid/core/enum_names.h"
#include "limpid/data/dataset.h"

namespace limpid {

// The labels of CIFAR-100: 20 coarse classes or 100 fine ones.
enum class CifarLabels : std::uint8_t { kFine, kCoarse };
constexpr EnumNames<2> enum_names(CifarLabels) { return {"labels", {"fine", "coarse"}}; }

// A folder with CIFAR-10's `data_batch_1.bin` to at most `data_batch_5.bin`, those that there are,
// and `test_batch.bin`; or with CIFAR-100's `train.bin` and `test.bin`. Pictures are f32 [N, 3 * 32
// * 32] in [0, 1], u8 / 255, when rows are read. Names of classes are those of batches.meta.txt,
// fine_label_names.txt or coarse_label_names.txt, a line each, if the file is there. The validation
// set is empty. Throws kIo if a file is missing; kFormat, naming the file, if its size is not that
// of whole records, for a label beyond the classes, and for another number of names;
// kInvalidArgument for coarse labels of CIFAR-10.
Split load_cifar(const std::filesystem::path& folder, CifarLabels labels = CifarLabels::kFine);

}  // namespace limpid
