#include "models/quantization/quantization_record.h"

#include <cmath>

#include "models/graph/proto_text.h"
#include "models/quantization/quantization.pb.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr int64_t kVersion = 1;

}  // namespace

Int8Choice QuantizationRecord::choice() const {
  Int8Choice choice = {.ranges = ranges};
  for (const auto& [id, reason] : in_float) choice.in_float.insert(id);
  return choice;
}

absl::Status QuantizationRecord::CheckInput(const Graph& graph, const Preprocessing& shown) const {
  if (input != graph.input_shape().ToString()) {
    return InvalidArgument("was quantized for samples of ", input, ", but its network takes ",
                           graph.input_shape().ToString(), "; quantize it again");
  }
  if (preprocessing != ToJson(shown)) {
    return InvalidArgument(
        "was quantized for other input: its ranges are of samples with the "
        "preprocessing ",
        preprocessing, ", not ", ToJson(shown), "; quantize it again");
  }
  return absl::OkStatus();
}

std::string ToText(const QuantizationRecord& record) {
  proto::Quantization message;
  message.set_version(kVersion);
  message.set_method(record.method);
  message.set_samples(record.samples);
  message.set_input(record.input);
  message.set_preprocessing(record.preprocessing);
  for (const auto& [id, range] : record.ranges) {
    proto::LayerRange& layer = *message.add_range();
    layer.set_layer(id);
    layer.set_low(range.low);
    layer.set_high(range.high);
  }
  for (const auto& [id, reason] : record.in_float) {
    proto::FloatLayer& layer = *message.add_float_layer();
    layer.set_layer(id);
    layer.set_reason(reason);
  }
  return ProtoText(message);
}

absl::StatusOr<QuantizationRecord> ParseQuantization(const std::string& text) {
  proto::Quantization message;
  DTNN_RETURN_IF_ERROR(ParseProtoText(text, message));
  if (message.version() != kVersion) {
    return InvalidArgument("has version ", message.version(), "; this program reads version ",
                           kVersion);
  }
  QuantizationRecord record = {.method = message.method(),
                               .samples = message.samples(),
                               .input = message.input(),
                               .preprocessing = message.preprocessing()};
  for (const proto::LayerRange& layer : message.range()) {
    if (!std::isfinite(layer.low()) || !std::isfinite(layer.high()) || layer.low() > layer.high()) {
      return InvalidArgument("layer ", layer.layer(), " has the range ", layer.low(), " to ",
                             layer.high(), "; expected two numbers in order");
    }
    if (!record.ranges.emplace(layer.layer(), ValueRange{layer.low(), layer.high()}).second) {
      return InvalidArgument("layer ", layer.layer(), " has two ranges");
    }
  }
  for (const proto::FloatLayer& layer : message.float_layer()) {
    if (!record.in_float.emplace(layer.layer(), layer.reason()).second) {
      return InvalidArgument("layer ", layer.layer(), " is named twice as one in float32");
    }
  }
  return record;
}

}  // namespace dtnn
