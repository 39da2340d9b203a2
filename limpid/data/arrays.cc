#include "limpid/data/arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <vector>

#include "limpid/core/float_mode.h"
#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/formats/detail/report.h"

namespace limpid {
namespace {

using detail::Reporter;

// Up to this number of classes, any labels are accepted; above it, one class in 16 has to occur.
constexpr std::int64_t kUnseenClasses = 1000;
constexpr std::int64_t kClassesForALabel = 16;

bool is_integer(Dtype dtype) {
  return dtype == Dtype::kI32 || dtype == Dtype::kI64 || dtype == Dtype::kI8 ||
         dtype == Dtype::kU8 || dtype == Dtype::kBool;
}

// ---- numbers of any dtype

template <class T>
double wide(T number) {
  return static_cast<double>(number);
}
double wide(F16 number) { return static_cast<double>(to_f32(number)); }

// f(i, number i as f64) for elements [first, first + count). i64 beyond 2^53 is rounded, as f32
// would round it more.
template <class F>
void for_numbers(const Tensor& tensor, std::size_t first, std::size_t count, const F& f) {
  visit(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, Bf16>) {
      throw Error(ErrorCode::kDtype, "arrays: bf16 is not a NumPy type");
    } else {
      const auto values = tensor.values<T>();
      for (std::size_t i = first; i < first + count; ++i) f(i, wide(values[i]));
    }
  });
}

template <class F>
void for_each_number(const Tensor& tensor, const F& f) {
  for_numbers(tensor, 0, static_cast<std::size_t>(tensor.elements()), f);
}

// ---- pictures

// The smallest and the largest number of an array; NaN is neither.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
};

std::int64_t white_of(Dtype dtype, const Range& range) {
  if (range.least < 0) return 0;
  if (is_integer(dtype) && dtype != Dtype::kBool)
    return range.greatest > 1 && range.greatest <= 255 ? 255 : 0;
  return range.greatest <= 1 ? 1 : 0;
}

// ---- one array of a source

struct Array {
  const Tensor& values;
  std::string name;
  const Reporter& report;

  std::int64_t rows() const { return values.shape()[0]; }
  std::int64_t columns() const { return values.elements() / std::max<std::int64_t>(1, rows()); }
  std::int64_t row_of(std::size_t element) const {
    return static_cast<std::int64_t>(element) / columns();
  }

  [[noreturn]] void refuse(std::size_t element, double number, std::string_view expected) const {
    report.broken("row {} of {} has {}, {}", row_of(element), in_quotes(name), number, expected);
  }

  // The picture of each row, without its `white`, and whether its channels are the last axis.
  struct Pictures {
    PictureShape shape;
    bool channels_last = false;
  };
  std::optional<Pictures> pictures(ArrayLayout layout) const {
    constexpr std::int64_t kSmallest = 8, kLargest = 65535;
    const Shape& shape = values.shape();
    if (layout == ArrayLayout::kFeatures) return {};
    if (layout != ArrayLayout::kAuto && shape.rank() != 4)
      throw Error(ErrorCode::kShape,
                  fmt::format("arrays: {} is {}, expected rank 4 for the layout {}",
                              in_quotes(name), to_string(values.type()), limpid::name(layout)));
    if (std::any_of(shape.begin() + 1, shape.end(), [](std::int64_t n) { return n > kLargest; }))
      return {};
    if (shape.rank() == 3 && shape[1] >= kSmallest && shape[2] >= kSmallest)
      return Pictures{{.channels = 1, .height = shape[1], .width = shape[2]}};
    if (shape.rank() != 4) return {};
    const auto may_be_channels = [](std::int64_t n) { return n == 1 || n == 3 || n == 4; };
    bool last = layout == ArrayLayout::kNhwc, first = layout == ArrayLayout::kNchw;
    if (layout == ArrayLayout::kAuto) {
      last = may_be_channels(shape[3]);
      first = may_be_channels(shape[1]);
    }
    if (last && first)
      report.broken(
          "{} is {}: expected the option layout=nhwc, nchw or flat, as both its second "
          "and its last axis may be channels",
          in_quotes(name), to_string(values.type()));
    if (last) return Pictures{{.channels = shape[3], .height = shape[1], .width = shape[2]}, true};
    if (first) return Pictures{{.channels = shape[1], .height = shape[2], .width = shape[3]}};
    return {};
  }

  // f32 [N, columns]; channels that are the last axis become the first one of a row.
  Tensor numbers(Arrays memory, const std::optional<Pictures>& rows_of = {},
                 Range* range = nullptr) const {
    for_each_number(values, [&](std::size_t i, double x) {
      if (range) {
        range->least = std::min(range->least, x);
        range->greatest = std::max(range->greatest, x);
      }
      if (std::isfinite(x) && std::abs(x) > std::numeric_limits<float>::max())
        refuse(i, x, "which is beyond f32");
    });
    const Shape shape{rows(), columns()};
    const bool turned = rows_of && rows_of->channels_last && rows_of->shape.channels > 1;
    if (memory == Arrays::kConstant && values.dtype() == Dtype::kF32 && !turned)
      return values.reshape(shape);
    const auto channels = static_cast<std::size_t>(turned ? rows_of->shape.channels : 1);
    const Tensor converted = Tensor::deferred_rows(
        {Dtype::kF32, shape},
        [from = values, width = static_cast<std::size_t>(columns()), channels](
            std::int64_t row, std::int64_t count, std::span<std::byte> out) {
          const DefaultFloatMode mode;
          const std::size_t first = static_cast<std::size_t>(row) * width;
          auto* const numbers = reinterpret_cast<float*>(out.data());
          if (channels == 1) {
            for_numbers(
                from, first, static_cast<std::size_t>(count) * width,
                [&](std::size_t i, double x) { numbers[i - first] = static_cast<float>(x); });
            return;
          }
          for_numbers(
              from, first, static_cast<std::size_t>(count) * width, [&](std::size_t i, double x) {
                const std::size_t at = i % width;
                numbers[i - first - at + at % channels * (width / channels) + at / channels] =
                    static_cast<float>(x);
              });
        });
    return memory == Arrays::kConstant ? converted : converted.read_once();
  }

  // i32 [N] in [0, classes); `expected` says why another number is none.
  Tensor labels(std::int64_t classes, std::string_view expected) const {
    return Tensor::generate<std::int32_t>(Shape{rows()}, [&](std::span<std::int32_t> out) {
      for_each_number(values, [&](std::size_t i, double x) {
        if (!(x >= 0 && x < static_cast<double>(classes)) || x != std::floor(x))
          refuse(i, x, expected);
        out[i] = static_cast<std::int32_t>(x);
      });
    });
  }

  bool all_labels() const {
    bool all = true;
    for_each_number(values, [&](std::size_t, double x) { all = all && (x == 0 || x == 1); });
    return all;
  }
};

Task task_of(const Array& y) {
  if (!is_integer(y.values.dtype())) return Task::kRegression;
  if (y.columns() == 1) return Task::kClassification;
  return y.all_labels() ? Task::kMultiLabel : Task::kRegression;
}

// ---- the parts

class Source {
 public:
  Source(const Params& arrays, std::string_view where, Targets targets, Arrays memory,
         ArrayLayout layout)
      : arrays_(arrays),
        targets_(targets),
        memory_(memory),
        layout_(layout),
        where_(in_quotes(where)),
        report_("arrays", where) {}

  template <class... Args>
  [[noreturn]] void refuse(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(
        code, fmt::format("arrays {}: {}", where_, fmt::format(text, std::forward<Args>(args)...)));
  }

  bool has(const std::string& name) const { return arrays_.find(name) != nullptr; }

  // The part of "x" or "x_train", ... Without a task it follows from the targets; without classes
  // these follow from the labels.
  Dataset part(const std::string& suffix, std::optional<Task> task, std::int64_t classes) const {
    const Array x = array("x" + suffix);
    Dataset data;
    const auto pictures = x.pictures(layout_);
    Range range;
    data.inputs = x.numbers(memory_, pictures, pictures ? &range : nullptr);
    if (pictures) {
      data.picture = pictures->shape;
      data.picture->white = white_of(x.values.dtype(), range);
    }
    if (const Shape& shape = x.values.shape(); shape.rank() == 3)
      data.sequence = SequenceShape{shape[1], shape[2]};
    data.task = task.value_or(Task::kRegression);
    data.targets = Tensor::zeros({Dtype::kF32, Shape{x.rows(), 0}});
    if (targets_ == Targets::kIfPresent && !has("y" + suffix)) return data;
    const Array y = array("y" + suffix);
    if (y.values.shape().rank() > 2 || y.rows() != x.rows())
      refuse(ErrorCode::kShape, "{} is {} and {} is {}; expected [N, ...] and [N] or [N, outputs]",
             in_quotes(x.name), to_string(x.values.type()), in_quotes(y.name),
             to_string(y.values.type()));
    data.task = task.value_or(task_of(y));
    if (data.task == Task::kClassification)
      add_labels(data, y, classes);
    else
      data.targets = y.numbers(Arrays::kMayChange);
    if (data.task == Task::kMultiLabel && !y.all_labels())
      report_.broken("{}: expected labels 0 and 1, got other numbers", in_quotes(y.name));
    return data;
  }

 private:
  Array array(const std::string& name) const {
    const Tensor* found = arrays_.find(name);
    if (!found)
      refuse(ErrorCode::kNotFound,
             "expected x and y, or x_train, y_train, x_test and y_test; there is no {} among: {}",
             in_quotes(name), list());
    if (found->shape().rank() == 0) refuse(ErrorCode::kShape, "{} is a scalar", in_quotes(name));
    if (found->elements() == 0)
      report_.broken("{} is {}, which has no elements", in_quotes(name), to_string(found->type()));
    return {*found, name, report_};
  }

  void add_labels(Dataset& data, const Array& y, std::int64_t classes) const {
    if (y.columns() != 1)
      refuse(ErrorCode::kShape, "{} is {}, expected labels [N]", in_quotes(y.name),
             to_string(y.values.type()));
    data.targets =
        classes == 0
            ? y.labels(kMaxArrayClasses,
                       fmt::format("expected labels 0 to {}", kMaxArrayClasses - 1))
            : y.labels(classes, fmt::format("the training set has labels 0 to {}", classes - 1));
    if (classes == 0) data.classes = classes_seen(data.targets.values<std::int32_t>(), y);
  }

  // At least two. One large label does not imply thousands of classes, which would cost memory and
  // time.
  std::int64_t classes_seen(std::span<const std::int32_t> labels, const Array& y) const {
    const auto largest = std::max_element(labels.begin(), labels.end());
    const std::int64_t classes = std::max(2, *largest + 1);
    const auto different =
        static_cast<std::int64_t>(std::set<std::int32_t>(labels.begin(), labels.end()).size());
    if (classes > std::max(kUnseenClasses, kClassesForALabel * different))
      report_.broken(
          "row {} of {} has label {}, but only {} distinct {}; renumber the labels from 0",
          largest - labels.begin(), in_quotes(y.name), *largest, different,
          different == 1 ? "label occurs" : "labels occur");
    return classes;
  }

  std::string list() const {
    constexpr std::size_t kShown = 12;
    std::vector<std::string> names;
    for (const std::string& name : arrays_.names())
      if (names.size() < kShown) names.push_back(in_quotes(name));
    return fmt::format("{}{}", fmt::join(names, ", "), arrays_.size() > kShown ? ", ..." : "");
  }

  const Params& arrays_;
  Targets targets_;
  Arrays memory_;
  ArrayLayout layout_;
  std::string where_;
  Reporter report_;
};

}  // namespace

Split arrays_split(const Params& arrays, std::string_view where, std::optional<Task> task,
                   Targets targets, Arrays memory, ArrayLayout layout) {
  const DefaultFloatMode mode;
  const Source source(arrays, where, targets, memory, layout);
  const bool given = source.has("x_train") || source.has("x_test");
  Split split;
  split.train = source.part(given ? "_train" : "", task, 0);
  split.train.name = std::filesystem::path(where).filename().string();
  split.validation = gather_rows(split.train, {});
  split.test = split.validation;
  if (!given) return split;
  const Dataset test = source.part("_test", split.train.task, split.train.classes);
  const bool same_inputs =
      test.inputs.shape()[1] == split.train.inputs.shape()[1] &&
      (!test.picture || !split.train.picture || test.picture->same_shape(*split.train.picture)) &&
      (!test.sequence || !split.train.sequence || test.sequence == split.train.sequence);
  const bool both_have_targets = source.has("y_train") && source.has("y_test");
  const bool same_targets =
      !both_have_targets ||
      test.targets.shape() == split.train.targets.shape().replace(0, test.size());
  if (!same_inputs || !same_targets)
    source.refuse(ErrorCode::kShape,
                  "expected test rows like those in training, inputs {} and targets {}, got {} and "
                  "{}",
                  to_string(split.train.input_type()), to_string(split.train.target_type()),
                  to_string(test.input_type()), to_string(test.target_type()));
  split.test.inputs = test.inputs;
  split.test.targets = test.targets;
  return split;
}

}  // namespace limpid
