// What a convolution in 8 bits keeps of its parameters: weights as int8, and how sums become
// results.

#ifndef DTNN_KERNELS_INT8_PACKED_PARAMETERS_H_
#define DTNN_KERNELS_INT8_PACKED_PARAMETERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/int8/int8_conv2d.h"
#include "kernels/int8/write_back.h"

namespace dtnn::int8 {

// The weights of a filter, in the order (kh, kw, channels of the group).
struct QuantizedFilter {
  std::vector<int8_t> weights;
  float scale = 1;
  int32_t sum = 0;  // of the weights
};
// InvalidArgument where a weight is NaN or infinite.
absl::Status QuantizeFilter(const Conv2dSpec& spec, const Int8Conv2dParameters& parameters,
                            int64_t filter, QuantizedFilter* quantized);

// The three arrays of a ResultRule, an element per filter.
struct ResultArrays {
  int32_t* compensation = nullptr;
  float *multiplier = nullptr, *offset = nullptr;

  ResultRule Rule(const Int8Conv2dSpec& spec, int64_t first) const;
  absl::Status Set(const Int8Conv2dSpec& spec, const Int8Conv2dParameters& parameters,
                   int64_t filter, const QuantizedFilter& quantized, int64_t place) const;
};

// That the operands of a call are what the spec says.
absl::Status CheckOperands(const Int8Conv2dSpec& spec, const Tensor& x, const Tensor& addend,
                           const Tensor& y, Workspace workspace, size_t needed);

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_PACKED_PARAMETERS_H_
