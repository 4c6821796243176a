// One network of the zoo: a line of its family's table.
//
// A literal network is made for one data set: its sample and classes are part of the definition. An
// adapting one takes whatever the data set has, and may have another form for small images, whose
// stem keeps the resolution that a stem for photographs throws away.

#ifndef DTNN_MODELS_ZOO_MODEL_INFO_H_
#define DTNN_MODELS_ZOO_MODEL_INFO_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "models/graph/builder.h"

namespace dtnn {

// Appends everything between the input and the activation at the end, which is the loss's affair.
using AppendModel = std::function<void(GraphBuilder&, int64_t outputs)>;

// What a network is made for.
struct ModelData {
  ImageExtents sample;
  int64_t classes;
};
inline constexpr ModelData kMnistData = {{28, 28, 1}, 10};
inline constexpr ModelData kCifar10Data = {{32, 32, 3}, 10};
inline constexpr ModelData kImageNetData = {{224, 224, 3}, 1000};

struct ModelInfo {
  std::string_view name;
  ModelData data;  // its own
  bool adapts;     // to the data set
  AppendModel append;
  AppendModel append_small = {};  // takes append's place for small images; empty: append fits all
  std::string_view note = {};     // what a reader of `--model=list` should know
  int64_t side_multiple = 1;      // that both sides of an image must be of
};

// "Small": neither side is longer than 64 pixels.
constexpr bool IsSmall(const ImageExtents& image) {
  return image.height <= 64 && image.width <= 64;
}

inline ModelInfo Literal(std::string_view name, const ModelData& data, AppendModel append,
                         std::string_view note = {}) {
  return {.name = name, .data = data, .adapts = false, .append = std::move(append), .note = note};
}

inline ModelInfo Adapting(std::string_view name, const ModelData& data, AppendModel append,
                          std::string_view note = {}) {
  return {.name = name, .data = data, .adapts = true, .append = std::move(append), .note = note};
}

inline ModelInfo Adapting(std::string_view name, const ModelData& data, AppendModel append,
                          AppendModel append_small, std::string_view note = {}) {
  ModelInfo info = Adapting(name, data, std::move(append), note);
  info.append_small = std::move(append_small);
  return info;
}

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_MODEL_INFO_H_
