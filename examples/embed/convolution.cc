// A program outside DTNN that links one algorithm of its convolutions: the variant and header that
// BUILD.bazel names. Sums 3x3 neighbours of an image of ones, in each of two channels.

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv/conv2d_cpu.h"
#include "linked_variants.h"
#include "tensor/buffer.h"
#include HEADER

int main() {
  const dtnn::conv::Variant& variant = dtnn::conv::VARIANT;
  if (LinkedVariants() != std::vector<std::string_view>{variant.name}) {
    std::fprintf(stderr, "linked:");
    for (const std::string_view linked : LinkedVariants()) {
      std::fprintf(stderr, " %s", std::string(linked).c_str());
    }
    return std::fprintf(stderr, "\n"), 1;
  }
  dtnn::Conv2dSpec spec;
  spec.batch = 1, spec.height = 4, spec.width = 8;
  spec.channels = spec.filters = spec.groups = 2;
  spec.kernel = 3, spec.padding = 1;
  for (const dtnn::conv::Direction direction : dtnn::conv::kDirections) {
    const dtnn::conv::Support support = SupportOf(variant, spec, direction);
    if (!support.ok()) return std::fprintf(stderr, "%s\n", std::string(support.refusal).c_str()), 1;
  }
  const auto conv = dtnn::conv::CreateConv2dCpu(spec, {&variant, &variant, &variant});
  const auto make = [&](const dtnn::Shape& shape, float value) {
    const auto tensor = dtnn::Tensor::Zeros(spec.dtype, shape);
    for (int64_t i = 0; i < shape.NumElements(); ++i) tensor->data<float>()[i] = value;
    return *tensor;
  };
  const dtnn::Tensor x = make(spec.InputShape(), 1), filter = make(spec.FilterShape(), 1);
  const dtnn::Tensor y = make(spec.OutputShape(), 0);
  const auto workspace =
      dtnn::Buffer::Allocate(dtnn::Device::Cpu(), (*conv)->workspace_bytes());  // aligned
  const auto status =
      (*conv)->Forward(x, {filter, 0}, y, {}, {(*workspace)->data(), (*workspace)->size()});
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.ToString().c_str()), 1;
  bool right = true;
  for (int64_t row = 0; row < spec.height; ++row) {
    for (int64_t column = 0; column < spec.width; ++column) {
      const float sum = y.data<float>()[(row * spec.width + column) * 2 + 1];
      std::printf("%4.3g", sum);
      const bool edge_row = row % 3 == 0, edge_column = column % 7 == 0;
      right = right && std::abs(sum - (edge_row ? 2 : 3) * (edge_column ? 2 : 3)) < 1e-4;
    }
    std::printf("\n");
  }
  return right ? 0 : 1;
}
