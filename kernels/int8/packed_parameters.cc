#include "kernels/int8/packed_parameters.h"

#include <algorithm>
#include <cmath>

#include "kernels/operands/operand.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn::int8 {

absl::Status QuantizeFilter(const Conv2dSpec& spec, const Int8Conv2dParameters& parameters,
                            int64_t filter, QuantizedFilter* quantized) {
  const int64_t channels = spec.channels / spec.groups;
  const int64_t taps = spec.kernel.vertical * spec.kernel.horizontal;
  const bool last = spec.filter_format.value_or(spec.format) == TensorFormat::kNHWC;
  const int64_t step = last ? spec.filters : 1;  // from a tap to the next
  const float* const first = parameters.filter + (last ? filter : filter * channels * taps);
  const double scale = parameters.scale == nullptr ? 1 : double(parameters.scale[filter]);
  double largest = 0;
  for (int64_t i = 0; i < channels * taps; ++i) {
    const double weight = double(first[i * step]) * scale;
    if (!std::isfinite(weight)) {
      return InvalidArgument("a weight of filter ", filter, " is NaN or infinite");
    }
    largest = std::max(largest, std::abs(weight));
  }
  // A scale that is a normal number, and has an inverse.
  quantized->scale = largest == 0 ? 1.0f : float(std::max(largest / 127, 1e-30));
  quantized->sum = 0;
  quantized->weights.resize(size_t(channels * taps));
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const double weight = double(first[(channel * taps + tap) * step]) * scale;
      const double rounded = std::nearbyint(weight / double(quantized->scale));
      const auto value = int8_t(std::clamp(rounded, -127.0, 127.0));
      quantized->weights[size_t(tap * channels + channel)] = value;
      quantized->sum += value;
    }
  }
  return absl::OkStatus();
}

ResultRule ResultArrays::Rule(const Int8Conv2dSpec& spec, int64_t first) const {
  ResultRule rule = {.compensation = compensation + first,
                     .multiplier = multiplier + first,
                     .offset = offset + first,
                     .floats = !spec.output.has_value(),
                     .rectify = spec.conv.epilogue.relu};
  const Quantization output = spec.output.value_or(Quantization());
  if (spec.conv.epilogue.add) rule.addend_multiplier = spec.addend.scale / output.scale;
  if (spec.conv.epilogue.relu) rule.low = float(output.zero_point);
  return rule;
}

absl::Status ResultArrays::Set(const Int8Conv2dSpec& spec, const Int8Conv2dParameters& parameters,
                               int64_t filter, const QuantizedFilter& quantized,
                               int64_t place) const {
  const Quantization output = spec.output.value_or(Quantization());
  compensation[place] = -spec.input.zero_point * quantized.sum;
  const double out = double(output.scale);
  multiplier[place] = float(double(spec.input.scale) * double(quantized.scale) / out);
  if (!std::isfinite(multiplier[place]) || !std::isfinite(spec.addend.scale / output.scale)) {
    return InvalidArgument("the scales of filter ", filter, " are too large for the result's");
  }
  double sum = output.zero_point;
  if (spec.conv.epilogue.bias) sum += double(parameters.bias[filter]) / out;
  if (spec.conv.epilogue.add) {
    sum -= double(spec.addend.scale / output.scale) * spec.addend.zero_point;
  }
  if (!std::isfinite(float(sum))) {
    return InvalidArgument("the bias of filter ", filter, " is NaN, infinite or too large");
  }
  offset[place] = float(sum);
  return absl::OkStatus();
}

absl::Status CheckOperands(const Int8Conv2dSpec& spec, const Tensor& x, const Tensor& addend,
                           const Tensor& y, Workspace workspace, size_t needed) {
  constexpr std::string_view kOperation = "convolution in 8 bits";
  const int64_t n = x.empty() || x.shape().rank() == 0 ? 0 : x.shape()[0];
  if (n < 1 || n > spec.conv.batch) {
    return InvalidArgument(kOperation, ": x has ", n, " images, expected 1 to ", spec.conv.batch);
  }
  Conv2dSpec conv = spec.conv;
  conv.batch = n;
  const auto check = [&](std::string_view name, const Tensor& tensor, DType dtype,
                         const Shape& shape) {
    return CheckOperand(kOperation, name, tensor, Device::Cpu(), dtype, shape, Pitch::kAllowed);
  };
  DTNN_RETURN_IF_ERROR(check("x", x, DType::kUint8, conv.InputShape()));
  DTNN_RETURN_IF_ERROR(
      check("y", y, spec.output ? DType::kUint8 : DType::kFloat32, conv.OutputShape()));
  if (conv.epilogue.add) {
    DTNN_RETURN_IF_ERROR(check("addend", addend, DType::kUint8, conv.OutputShape()));
  }
  if (workspace.size() >= needed) return absl::OkStatus();
  return InvalidArgument(kOperation, ": a workspace of ", workspace.size(), " bytes, expected ",
                         needed);
}

}  // namespace dtnn::int8
