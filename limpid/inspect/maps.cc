#include "limpid/inspect/maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "limpid/compile/predictor.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/png_writer.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"

namespace limpid {
namespace {

constexpr std::int64_t kTile = 64, kMapGap = 4;

using Colour = std::array<std::uint8_t, 3>;
constexpr Colour kGapColour{96, 96, 96};

std::uint8_t eight_bits(double share) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
}

// The colours of numbers from `low` to `high`.
struct Palette {
  double low = 0, high = 0;

  Colour operator()(double x) const {
    if (std::isnan(x)) return {0, 0, 0};
    if (low >= 0) {
      const std::uint8_t grey = eight_bits(high > 0 ? x / high : 0);
      return {grey, grey, grey};
    }
    const double most = std::max(-low, high);
    const std::uint8_t rest = eight_bits(1 - std::abs(x) / most);
    return x < 0 ? Colour{rest, rest, 255} : Colour{255, rest, rest};
  }
};

// The lowest and highest number that is finite.
Palette palette_of(std::span<const float> numbers) {
  Palette palette{std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity()};
  for (const float x : numbers) {
    if (!std::isfinite(x)) continue;
    palette.low = std::min(palette.low, double{x});
    palette.high = std::max(palette.high, double{x});
  }
  return palette.low > palette.high ? Palette{} : palette;
}

// Tiles in rows and columns.
class Canvas {
 public:
  Canvas(std::size_t rows, std::int64_t columns)
      : height_(static_cast<std::int64_t>(rows) * (kTile + kMapGap) + kMapGap),
        width_(columns * (kTile + kMapGap) + kMapGap),
        pixels_(static_cast<std::size_t>(height_ * width_ * 3)) {
    for (std::size_t i = 0; i < pixels_.size(); ++i) pixels_[i] = kGapColour[i % 3];
  }

  // `at` gives the colour of a pixel of the picture, whose nearest one is taken.
  template <class At>
  void draw(std::size_t row, std::int64_t column, std::int64_t height, std::int64_t width,
            const At& at) {
    const std::int64_t top = static_cast<std::int64_t>(row) * (kTile + kMapGap) + kMapGap,
                       left = column * (kTile + kMapGap) + kMapGap;
    for (std::int64_t y = 0; y < kTile; ++y)
      for (std::int64_t x = 0; x < kTile; ++x) {
        const Colour colour = at(y * height / kTile, x * width / kTile);
        std::copy(colour.begin(), colour.end(),
                  pixels_.begin() + ((top + y) * width_ + left + x) * 3);
      }
  }

  std::vector<std::byte> png() const { return png_bytes(height_, width_, 3, pixels_); }

 private:
  std::int64_t height_, width_;
  std::vector<std::uint8_t> pixels_;
};

// [channels, height, width] of a shape, without a first dimension of 1; nullopt for other shapes,
// and for pictures of one pixel.
std::optional<Shape> map_shape(const Type& type) {
  std::vector<std::int64_t> dims(type.shape.dims().begin(), type.shape.dims().end());
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  if (type.dtype != Dtype::kF32 || dims.size() != 3 || dims[1] * dims[2] < 2 || dims[0] < 1)
    return {};
  return Shape(dims);
}

struct MapsRowPixels {
  MapsSheet::Row row;
  Tensor numbers;  // f32 [channels, height, width]
  bool coloured = false;
};

MapsSheet sheet_of(const std::vector<MapsRowPixels>& all, std::int64_t columns,
                   std::string_view what) {
  if (columns < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected 1 column or more, got {}", what, columns));
  if (all.empty())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: the model has none; expected a network of convolutions", what));
  std::int64_t across = 1;
  MapsSheet sheet;
  for (const MapsRowPixels& one : all) {
    MapsSheet::Row row = one.row;
    const Palette palette = palette_of(one.numbers.values<float>());
    row.low = palette.low;
    row.high = palette.high;
    row.shown = std::min(columns, one.row.shape[0] / (one.coloured ? 3 : 1));
    across = std::max(across, row.shown);
    sheet.rows.push_back(std::move(row));
  }
  Canvas canvas(all.size(), across);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const MapsSheet::Row& row = sheet.rows[r];
    const std::int64_t height = row.shape[1], width = row.shape[2], plane = height * width;
    const std::span<const float> numbers = all[r].numbers.values<float>();
    const Palette palette{row.low, row.high};
    for (std::int64_t i = 0; i < row.shown; ++i)
      canvas.draw(r, i, height, width, [&](std::int64_t y, std::int64_t x) {
        const auto number = [&](std::int64_t channel) {
          return double{numbers[static_cast<std::size_t>(channel * plane + y * width + x)]};
        };
        if (!all[r].coloured) return palette(number(i));
        Colour colour{};
        for (std::int64_t c = 0; c < 3; ++c) {
          const double share = (number(3 * i + c) - row.low) / std::max(row.high - row.low, 1e-30);
          colour[static_cast<std::size_t>(c)] = std::isnan(share) ? 0 : eight_bits(share);
        }
        return colour;
      });
  }
  sheet.png = canvas.png();
  return sheet;
}

// The mean over the inputs of each output; three inputs stay.
MapsRowPixels kernels_of(const std::string& name, const Tensor& weight) {
  const Shape& shape = weight.shape();
  const bool coloured = shape[1] == 3;
  MapsRowPixels row{
      .row = {.value = name, .layer = "", .shape = {}}, .numbers = weight, .coloured = coloured};
  row.row.shape = {coloured ? 3 * shape[0] : shape[0], shape[2], shape[3]};
  if (coloured) {
    row.numbers = weight.reshape(row.row.shape);
    return row;
  }
  const std::span<const float> numbers = weight.values<float>();
  const auto plane = static_cast<std::size_t>(shape[2] * shape[3]),
             inputs = static_cast<std::size_t>(shape[1]);
  row.numbers = Tensor::generate<float>(row.row.shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < inputs; ++k)
        sum += double{numbers[(i / plane * inputs + k) * plane + i % plane]};
      out[i] = static_cast<float>(sum / static_cast<double>(inputs));
    }
  });
  return row;
}

// One element of the model's first output, by the picture.
Function output_of(const Model& model, std::int64_t output) {
  const Function& f = model.function;
  return trace("output", f.inputs(),
               [&](std::span<const Value> in) {
                 const std::vector<Value> inputs(in.begin(), in.end());
                 const Value all = in[0].builder().inline_function(f, inputs).front();
                 return std::vector<Value>{reshape(
                     slice(reshape(all, {all.shape().elements()}), 0, output, output + 1), {})};
               },
               {"output"});
}

// The largest magnitude over the channels.
Tensor strongest(const Tensor& gradient) {
  const Shape& shape = gradient.shape();
  const std::span<const float> numbers = gradient.values<float>();
  const auto plane = static_cast<std::size_t>(shape[1] * shape[2]);
  return Tensor::generate<float>({shape[1], shape[2]}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      out[i % plane] = std::max(out[i % plane], std::abs(numbers[i]));
  });
}

// The places of squares along a side: every half of one, the last one at the end.
std::vector<std::int64_t> places_of(std::int64_t side, std::int64_t square) {
  std::vector<std::int64_t> places;
  for (std::int64_t place = 0; place + square < side;
       place += std::max<std::int64_t>(1, square / 2))
    places.push_back(place);
  places.push_back(side - square);
  return places;
}

Tensor occluded(const Predictor& predict, const Tensor& picture, std::int64_t output,
                double whole) {
  const std::int64_t channels = picture.shape()[0], height = picture.shape()[1],
                     width = picture.shape()[2], plane = height * width;
  const std::int64_t square =
      std::min({std::max<std::int64_t>(2, std::max(height, width) / 8), height, width});
  const std::vector<std::int64_t> tops = places_of(height, square),
                                  lefts = places_of(width, square);
  const std::span<const float> pixels = picture.values<float>();
  std::vector<float> means;
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t i = 0; i < plane; ++i)
      sum += double{pixels[static_cast<std::size_t>(c * plane + i)]};
    means.push_back(static_cast<float>(sum / static_cast<double>(plane)));
  }
  std::vector<double> falls(static_cast<std::size_t>(plane)), covers(falls.size());
  for (const std::int64_t top : tops) {
    // A row of squares at a time.
    const auto count = static_cast<std::int64_t>(lefts.size());
    const auto inside = [&](std::int64_t r, std::int64_t y, std::int64_t x) {
      const std::int64_t left = lefts[static_cast<std::size_t>(r)];
      return y >= top && y < top + square && x >= left && x < left + square;
    };
    const Tensor covered =
        Tensor::generate<float>({count, channels, height, width}, [&](std::span<float> out) {
          for (std::int64_t r = 0; r < count; ++r)
            for (std::int64_t i = 0; i < channels * plane; ++i)
              out[static_cast<std::size_t>(r * channels * plane + i)] =
                  inside(r, i % plane / width, i % width)
                      ? means[static_cast<std::size_t>(i / plane)]
                      : pixels[static_cast<std::size_t>(i)];
        });
    const Tensor outputs = predict({covered})[0];
    const std::int64_t size = outputs.elements() / count;
    for (std::int64_t r = 0; r < count; ++r) {
      const double fall =
          whole - double{outputs.values<float>()[static_cast<std::size_t>(r * size + output)]};
      const std::int64_t left = lefts[static_cast<std::size_t>(r)];
      for (std::int64_t y = top; y < top + square; ++y)
        for (std::int64_t x = left; x < left + square; ++x) {
          falls[static_cast<std::size_t>(y * width + x)] += fall;
          covers[static_cast<std::size_t>(y * width + x)] += 1;
        }
    }
  }
  return Tensor::generate<float>({height, width}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(falls[i] / covers[i]);
  });
}

}  // namespace

MapsSheet feature_maps(const Observation& run, const Params& params, std::int64_t columns) {
  std::vector<MapsRowPixels> all;
  const Function& f = run.function;
  const auto add = [&](ValueId id, const std::string& layer) {
    const std::optional<Shape> shape = map_shape(f.type(id));
    if (!shape) return;
    MapsRowPixels row{.row = {.value = value_name(f, id), .layer = layer, .shape = *shape},
                      .numbers = run[id].reshape(*shape)};
    const auto same = std::find_if(all.begin(), all.end(), [&](const MapsRowPixels& other) {
      return !layer.empty() && other.row.layer == layer;
    });
    if (same == all.end())
      all.push_back(std::move(row));
    else
      *same = std::move(row);
  };
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    if (!params.find(f.inputs()[i].name)) add(static_cast<ValueId>(i), "");
  for (const Node& node : f.nodes())
    if (!node.scope.empty()) add(node.first_output, node.scope);
  return sheet_of(all, columns, "feature maps");
}

MapsSheet kernel_maps(const Params& params, std::int64_t columns) {
  std::vector<MapsRowPixels> all;
  for (const auto& [name, value] : params)
    if (value.dtype() == Dtype::kF32 && value.shape().rank() == 4 && value.elements() > 0 &&
        value.shape()[2] * value.shape()[3] > 1)
      all.push_back(kernels_of(name, value));
  return sheet_of(all, columns, "kernels");
}

Attribution attribute(const Model& model, const Tensor& picture, std::optional<std::int64_t> output,
                      ThreadPool* pool) {
  const std::vector<Input> data = data_inputs(model);
  const Type& wanted = data.front().type;
  if (data.size() != 1 || wanted.dtype != Dtype::kF32 || wanted.shape.rank() != 3 ||
      picture.type() != wanted)
    throw Error(ErrorCode::kShape,
                fmt::format("attribution: expected a picture f32 [channels, height, width] as the "
                            "model's only input {}, got {}",
                            to_string(wanted), to_string(picture.type())));
  const Predictor predict(model.function, model.params, {.pool = pool});
  const Shape& shape = picture.shape();
  const Tensor outputs = predict({picture.reshape({1, shape[0], shape[1], shape[2]})})[0];
  if (outputs.dtype() != Dtype::kF32 || outputs.elements() == 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("attribution: expected a model of f32 outputs, got {}",
                            to_string(outputs.type())));
  const std::span<const float> values = outputs.values<float>();
  Attribution result;
  result.output = output.value_or(std::max_element(values.begin(), values.end()) - values.begin());
  if (result.output < 0 || result.output >= outputs.elements())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("attribution: expected an output of 0 to {}, got {}",
                            outputs.elements() - 1, result.output));
  result.value = double{values[static_cast<std::size_t>(result.output)]};
  const Function one = grad(output_of(model, result.output), {data.front().name});
  std::vector<Tensor> inputs;
  for (const Input& input : one.inputs())
    inputs.push_back(input.name == data.front().name ? picture : model.params.at(input.name));
  result.saliency = strongest(compile(one)(inputs, pool).front());
  result.occlusion = occluded(predict, picture, result.output, result.value);
  return result;
}

std::vector<std::byte> attribution_sheet(const Attribution& attribution, const Tensor& picture) {
  const std::int64_t channels = picture.shape()[0], height = picture.shape()[1],
                     width = picture.shape()[2];
  const std::span<const float> pixels = picture.values<float>();
  const Palette range = palette_of(pixels);
  Canvas canvas(1, 3);
  canvas.draw(0, 0, height, width, [&](std::int64_t y, std::int64_t x) {
    Colour colour{};
    for (std::int64_t c = 0; c < 3; ++c) {
      const std::int64_t channel = channels == 3 ? c : 0;
      const double pixel =
          double{pixels[static_cast<std::size_t>((channel * height + y) * width + x)]};
      colour[static_cast<std::size_t>(c)] =
          eight_bits((pixel - range.low) / std::max(range.high - range.low, 1e-30));
    }
    return colour;
  });
  const auto draw = [&](std::int64_t column, const Tensor& map) {
    const std::span<const float> numbers = map.values<float>();
    const Palette palette = palette_of(numbers);
    canvas.draw(0, column, height, width, [&](std::int64_t y, std::int64_t x) {
      return palette(double{numbers[static_cast<std::size_t>(y * width + x)]});
    });
  };
  draw(1, attribution.saliency);
  draw(2, attribution.occlusion);
  return canvas.png();
}

}  // namespace limpid
