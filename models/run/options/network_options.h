// Which network a run trains, and what its parameters begin with.

#ifndef DTNN_MODELS_RUN_OPTIONS_NETWORK_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_NETWORK_OPTIONS_H_

#include <optional>
#include <string>

#include "models/run/options/option_words.h"
#include "tensor/dtype.h"

namespace dtnn {

constexpr auto WordsOf(DType) {
  return std::to_array<OptionWord<DType>>(
      {{DType::kFloat32, "float32"}, {DType::kFloat64, "float64"}});
}

inline constexpr char kAutoFormat[] = "AUTO";

struct NetworkOptions {
  std::string name = {};  // of the zoo; empty: the network in the file of `weights`
  // These two, not set, as the file of a network says; without one: float32, AUTO.
  std::optional<DType> dtype = {};      // kFloat32 or kFloat64; see ElementTypeOf
  std::string format = {};              // AUTO, NHWC or NCHW; see FormatOf
  std::string weights = {};             // file to start from; empty: random values
  std::string weights_format = "auto";  // layout of a file of weights without a tag
  bool weights_partial = false;         // take from the file what fits
  std::string freeze = {};  // patterns of layers that do not train (models/graph/freeze.h)

  friend bool operator==(const NetworkOptions&, const NetworkOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_NETWORK_OPTIONS_H_
