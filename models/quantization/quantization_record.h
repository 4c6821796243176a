// What a model's file keeps for inference in 8 bits: the ranges of what its layers write, found on
// samples, and which layers compute in float32 all the same. Weights stay float32 in the file, for
// all readers and for more training; int8 ones are made of them when a plan first runs, always the
// same.

#ifndef DTNN_MODELS_QUANTIZATION_QUANTIZATION_RECORD_H_
#define DTNN_MODELS_QUANTIZATION_QUANTIZATION_RECORD_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/preprocessing.h"
#include "models/graph/graph.h"
#include "models/plan/int8_types.h"

namespace dtnn {

struct QuantizationRecord {
  std::string method = {};  // RangeMethod's name
  int64_t samples = 0;
  // What the samples were: ranges of others mean nothing.
  std::string input = {};          // Shape::ToString() of one
  std::string preprocessing = {};  // ToJson
  std::map<int, ValueRange> ranges = {};
  std::map<int, std::string> in_float = {};  // ids of layers, and why

  Int8Choice choice() const;
  // InvalidArgument where the samples were other than this network takes, with this preprocessing.
  absl::Status CheckInput(const Graph& graph, const Preprocessing& preprocessing) const;
  friend bool operator==(const QuantizationRecord&, const QuantizationRecord&) = default;
};

std::string ToText(const QuantizationRecord& record);
// InvalidArgument for a text that is not such a record, has an unknown version, a range that is not
// one, or a layer twice.
absl::StatusOr<QuantizationRecord> ParseQuantization(const std::string& text);

}  // namespace dtnn

#endif  // DTNN_MODELS_QUANTIZATION_QUANTIZATION_RECORD_H_
