// Which values of an evaluation plan are bytes, with which scale, and which layers multiply them.

#ifndef DTNN_MODELS_PLAN_INT8_TYPES_H_
#define DTNN_MODELS_PLAN_INT8_TYPES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/int8/quantization.h"
#include "models/graph/graph.h"
#include "models/plan/fusion.h"

namespace dtnn {

struct ValueRange {
  double low = 0, high = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

struct Int8Choice {
  // What layers write, by their ids; where several run as one op, that of the last. That of the
  // input layer is of the samples; without it they stay float32.
  std::map<int, ValueRange> ranges = {};
  // Ids of convolutions and fully connected layers that compute in float32 all the same.
  std::set<int> in_float = {};
};

// Per node.
struct Int8Types {
  std::vector<std::optional<Quantization>> values;  // none: float32
  std::vector<uint8_t> products;                    // 1: the op multiplies bytes
};

// A layer multiplies bytes unless it is named in `in_float`, reads the network's output, or its
// input and that has no range. What such a layer reads is bytes, all else is float32. Values that
// are elements of each other have one range, the smallest that holds all of theirs. InvalidArgument
// naming a layer that needs a range and has none, and an id that no such layer has.
absl::StatusOr<Int8Types> ChooseInt8Types(const Graph& graph, const std::vector<Fusion>& fusions,
                                          const Int8Choice& choice);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_INT8_TYPES_H_
