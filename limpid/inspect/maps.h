// A network of convolutions in pictures: what its layers see, its kernels, and the pixels that an
// output depends on. Depends on trace.h and formats/model.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/formats/model.h"
#include "limpid/inspect/trace.h"

namespace limpid {

// Pictures on a sheet, a PNG with a row for each layer. Every picture is 64 pixels wide and high.
// Numbers that are all 0 or more are grey, from black (0) to white (the largest of the row); others
// are blue below 0, white at 0 and red above, by the largest magnitude of the row. NaN is black.
struct MapsSheet {
  struct Row {
    std::string value;  // "%3", or the name of a parameter
    std::string layer;  // "blocks.0"; may be empty
    Shape shape;        // (channels, height, width)
    double low = 0, high = 0;
    std::int64_t shown = 0;  // the first channels, at most `columns`
  };
  std::vector<Row> rows;
  std::vector<std::byte> png;
};

// The last value [channels, height, width] of each layer, with or without a first dimension of 1,
// and the data of this shape. Throws kInvalidArgument if there is none.
MapsSheet feature_maps(const Observation& run, const Params& params, std::int64_t columns = 16);

// The kernels of each weight (out, in, height, width), a picture for each output: in colours if it
// has three inputs, which the sheet shows as red, green and blue from the lowest to the highest
// number; else the mean over its inputs. Throws kInvalidArgument if there is none.
MapsSheet kernel_maps(const Params& params, std::int64_t columns = 16);

// What an output owes to the pixels of a picture.
struct Attribution {
  std::int64_t output = 0;  // which element of the model's first output
  double value = 0;         // that element
  // The largest magnitude over the channels of its derivative by each pixel, f32 [height, width]:
  // Simonyan et al. 2013, section 3.
  Tensor saliency;
  // By how much it falls where a square around a pixel has the mean colour of the picture, f32
  // [height, width]: the mean over the squares that cover the pixel. Zeiler and Fergus 2014,
  // section 4.2. Sides are an eighth of the longer side, steps half of that.
  Tensor occlusion;
};

// `picture` f32 [channels, height, width], the model's only data input; `output` is that with the
// largest value by default. Throws kShape for another input, kInvalidArgument for an output that is
// not there, and what vjp() throws.
Attribution attribute(const Model& model, const Tensor& picture,
                      std::optional<std::int64_t> output = {}, ThreadPool* pool = nullptr);

// The picture, its saliency and its occlusion beside each other.
std::vector<std::byte> attribution_sheet(const Attribution& attribution, const Tensor& picture);

}  // namespace limpid
