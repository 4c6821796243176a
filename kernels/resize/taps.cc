#include "kernels/resize/taps.h"

#include <algorithm>
#include <cmath>

#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn::resize {
namespace {

void Append(Axis& axis, int64_t first, std::initializer_list<double> factors) {
  axis.taps.push_back({first, int64_t(factors.size()), int64_t(axis.factors.size())});
  axis.factors.insert(axis.factors.end(), factors);
}

void Finish(Axis& axis) { axis.short_factors.assign(axis.factors.begin(), axis.factors.end()); }

}  // namespace

Axis AxisOf(int64_t in, int64_t out, ResizeMode mode, bool align_corners) {
  Axis axis = {.from = in};
  axis.taps.reserve(size_t(out));
  for (int64_t i = 0; i < out; ++i) {
    if (mode == ResizeMode::kNearest) {
      Append(axis, i * in / out, {1});
      continue;
    }
    const double position = !align_corners
                                ? std::max(0.0, (double(i) + 0.5) * double(in) / double(out) - 0.5)
                            : out > 1 ? double(i) * double(in - 1) / double(out - 1)
                                      : 0;
    const auto first = std::min(int64_t(position), in - 1);
    const double fraction = position - double(first);
    if (fraction > 0 && first + 1 < in) {
      Append(axis, first, {1 - fraction, fraction});
    } else {
      Append(axis, first, {1});
    }
  }
  Finish(axis);
  return axis;
}

// The outputs that an element is in follow each other, for positions only grow.
Axis Turned(const Axis& axis) {
  Axis turned = {.from = axis.to()};
  int64_t begin = 0;
  for (int64_t element = 0; element < axis.from; ++element) {
    const auto factor_of = [&](int64_t output) {
      const Taps& taps = axis.taps[size_t(output)];
      const int64_t tap = element - taps.first;
      return tap >= 0 && tap < taps.count ? axis.factors[size_t(taps.factor + tap)] : 0;
    };
    while (begin < axis.to() &&
           axis.taps[size_t(begin)].first + axis.taps[size_t(begin)].count <= element) {
      ++begin;
    }
    Taps taps = {.first = begin, .factor = int64_t(turned.factors.size())};
    for (int64_t output = begin; output < axis.to() && axis.taps[size_t(output)].first <= element;
         ++output) {
      turned.factors.push_back(factor_of(output));
      ++taps.count;
    }
    turned.taps.push_back(taps);
  }
  Finish(turned);
  return turned;
}

Pass Pass::Forward(const ResizeSpec& spec) {
  return {AxisOf(spec.height, spec.out_height, spec.mode, spec.align_corners),
          AxisOf(spec.width, spec.out_width, spec.mode, spec.align_corners)};
}

Pass Pass::Backward(const ResizeSpec& spec) {
  const Pass forward = Forward(spec);
  return {Turned(forward.rows), Turned(forward.columns)};
}

absl::Status CheckImages(const ResizeSpec& spec, Device device, std::string_view in_name,
                         const Tensor& in, std::string_view out_name, const Tensor& out) {
  constexpr std::string_view kName = "resize";
  const int64_t images = in.shape().rank() == 4 ? in.shape()[0] : spec.batch;
  if (images > spec.batch) {
    return InvalidArgument(kName, ": ", in_name, " has ", images, " images, expected at most ",
                           spec.batch);
  }
  DTNN_RETURN_IF_ERROR(CheckOperand(kName, in_name, in, device, spec.dtype,
                                    spec.InputShape().DropFirst().Prepend(images),
                                    Pitch::kAllowed));
  return CheckOperand(kName, out_name, out, device, spec.dtype,
                      spec.OutputShape().DropFirst().Prepend(images), Pitch::kAllowed);
}

}  // namespace dtnn::resize
